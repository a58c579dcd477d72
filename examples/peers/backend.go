package main

import (
	"container/heap"
	"context"
	"math"
	"sync"
	"time"
)

// shape is a back end: what it can do, and how it takes more than that.
type shape struct {
	Name string
	// Servers work on one request each, and the others queue; 0: Cores are shared by all.
	Servers int
	// Cores are shared by n requests, each of which then has the speed min(1, Cores*eff/n),
	// eff = 1/(1 + Beta*max(0, n-Knee)): contention beyond the knee.
	Cores, Knee, Beta float64
}

// Each of the shapes finishes capacity requests a second at its best, whose work is meanWork in the mean.
const (
	parallel = 16
	meanWork = 20 * time.Millisecond
	capacity = parallel / 0.020
)

var shapes = []shape{
	{Name: "fixed parallelism", Servers: parallel},
	{Name: "processor sharing", Cores: parallel},
	{Name: "collapse", Cores: parallel, Knee: 24, Beta: 0.02},
}

// backend serves requests in the time that goes by where it was made.
type backend struct {
	shape

	mu      sync.Mutex
	serving jobs
	waiting []*job // in order; those that left are still there
	queued  int    // of waiting, those that are still wanted
	got     float64
	at      time.Time
	busy    float64 // seconds of full utilisation
	timer   *time.Timer
}

// job is a request inside.
type job struct {
	work  float64 // seconds alone
	ends  float64 // what got is when it is done
	index int     // in serving; see the constants
	done  chan struct{}
}

const (
	inQueue = -1
	outside = -2
)

func newBackend(s shape) *backend { return &backend{shape: s, at: time.Now()} }

// serve blocks until the work is done, or ctx is, whose error it then returns: nobody works on what is no
// longer wanted.
func (b *backend) serve(ctx context.Context, work float64) error {
	j := &job{work: work, index: inQueue, done: make(chan struct{})}
	b.mu.Lock()
	b.advance()
	b.waiting = append(b.waiting, j)
	b.queued++
	b.plan()
	b.mu.Unlock()
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	switch {
	case j.index == inQueue:
		j.index = outside
		b.queued--
	case j.index >= 0:
		heap.Remove(&b.serving, j.index)
	default:
		return nil // done at this very moment
	}
	b.plan()
	return ctx.Err()
}

// speed of each in service.
func (b *backend) speed() float64 {
	n := float64(len(b.serving))
	if b.Servers > 0 || n == 0 {
		return 1
	}
	return min(1, b.Cores/(n*(1+b.Beta*max(0, n-b.Knee))))
}

// advance gives those in service what they got since the last time.
func (b *backend) advance() {
	now := time.Now()
	dt := now.Sub(b.at).Seconds()
	b.at = now
	b.got += dt * b.speed()
	b.busy += dt * min(1, float64(len(b.serving))/parallel)
}

// plan lets in who may come in, and sets the timer for the next end. REQUIRES: mu, advanced.
func (b *backend) plan() {
	for len(b.waiting) > 0 && (b.Servers == 0 || len(b.serving) < b.Servers) {
		j := b.waiting[0]
		b.waiting = b.waiting[1:]
		if j.index == inQueue {
			b.queued--
			j.ends = b.got + j.work
			heap.Push(&b.serving, j)
		}
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	if len(b.serving) > 0 {
		left := (b.serving[0].ends - b.got) / b.speed()
		b.timer = time.AfterFunc(time.Duration(math.Ceil(max(0, left)*1e9)), b.finish)
	}
}

// finish ends the service of those that are done.
func (b *backend) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	const rounding = 1e-9 // of the timer, in seconds
	for len(b.serving) > 0 && b.serving[0].ends <= b.got+rounding {
		j := heap.Pop(&b.serving).(*job)
		j.index = outside
		close(j.done)
	}
	b.plan()
}

// utilisation is the mean since the last call, 0 to 1.
func (b *backend) utilisation(period time.Duration) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	u := b.busy / period.Seconds()
	b.busy = 0
	return min(1, u)
}

// jobs is a heap by ends.
type jobs []*job

func (h jobs) Len() int           { return len(h) }
func (h jobs) Less(i, j int) bool { return h[i].ends < h[j].ends }
func (h jobs) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *jobs) Push(x any) {
	j := x.(*job)
	j.index = len(*h)
	*h = append(*h, j)
}

func (h *jobs) Pop() any {
	last := len(*h) - 1
	j := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return j
}
