package admission

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
)

// One stream of events goes through the core as the simulator drives it and
// through a real controller: same decisions at the same instants, same limits
// and ratios. What is found in simulation is thus true of the product.

// replayed is a request of the stream.
type replayed struct {
	Request
	id      int
	at      time.Duration
	try     bool          // it does not wait
	waits   time.Duration // until its deadline; 0: it has none
	leaves  time.Duration // it waits no longer than that; 0: as long as it must
	service time.Duration // from its admission
	outcome Outcome
}

// verdict is what became of one.
type verdict struct {
	at   time.Duration
	id   int
	what string
}

// look is the lane's state at a moment.
type look struct {
	at time.Duration
	LaneStats
}

const (
	lookPeriod = 50 * time.Millisecond
	lookOffset = 20*time.Millisecond + 1 // between two ticks
)

// replayPhases make every kind of decision happen.
var replayPhases = []struct {
	lasts    time.Duration
	rate     float64
	service  time.Duration
	overload float64 // share of the outcomes
}{
	{4 * time.Second, 100, 20 * time.Millisecond, 0},    // calm
	{8 * time.Second, 900, 40 * time.Millisecond, 0.01}, // more than 8 slots can serve
	{4 * time.Second, 500, 200 * time.Millisecond, 0},   // five times slower
	{3 * time.Second, 2, 20 * time.Millisecond, 0},      // a lull
	{6 * time.Second, 700, 40 * time.Millisecond, 0},
	{9 * time.Second, 300, 100 * time.Millisecond, 1}, // failing, down to the floor
	{6 * time.Second, 200, 20 * time.Millisecond, 0},
	{3 * time.Second, 900, 40 * time.Millisecond, 0},
	{2 * time.Second, 100, 20 * time.Millisecond, 0},
	{300 * time.Millisecond, 3000, 40 * time.Millisecond, 0}, // more than the queue takes; then it is closed
}

// replayStream draws the requests, no two at one instant.
func replayStream(seed uint64) (stream []replayed, end time.Duration) {
	r := rand.New(rand.NewPCG(seed, seed))
	at := time.Duration(0)
	for _, p := range replayPhases {
		end += p.lasts
		for {
			gap := time.Duration(1+r.ExpFloat64()*float64(time.Second)/p.rate) | 1
			if at+gap > end {
				at = end
				break
			}
			at += gap
			q := replayed{id: len(stream), at: at, outcome: Success}
			q.Priority, q.Key = NewPriority(Tier(r.IntN(NumTiers)), r.IntN(NumCohorts)), strconv.Itoa(q.id)
			if r.IntN(10) == 0 {
				q.Cost = 1 + r.IntN(5)
			}
			q.try = r.IntN(20) == 0
			if r.IntN(4) > 0 {
				q.waits = time.Duration(float64(30*time.Millisecond) + r.ExpFloat64()*float64(300*time.Millisecond))
			}
			if r.IntN(8) == 0 {
				q.leaves = 1 + time.Duration(r.Int64N(int64(100*time.Millisecond)))
			}
			q.service = 1 + time.Duration(r.ExpFloat64()*float64(p.service))
			switch x := r.Float64(); {
			case x < p.overload:
				q.outcome = Overload
			case x < p.overload+0.02:
				q.outcome = Failure
			case x < p.overload+0.04:
				q.outcome = Ignore
			}
			stream = append(stream, q)
		}
	}
	return stream, end
}

// replayInCore drives the core by the clock and events of the simulator's
// engine: ticks on a grid from 0, expiries when they are due.
type replayInCore struct {
	lane     lane // of the shell: what draws the chance and takes the statistics
	expected time.Duration
	events   replayEvents
	requests map[*core.Call]*replayed
	verdicts []verdict
}

type replayEvent struct {
	at time.Duration
	do func(now time.Duration)
}

type replayEvents []replayEvent

func (e replayEvents) Len() int           { return len(e) }
func (e replayEvents) Less(i, j int) bool { return e[i].at < e[j].at }
func (e replayEvents) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *replayEvents) Push(x any)        { *e = append(*e, x.(replayEvent)) }
func (e *replayEvents) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (p *replayInCore) later(at time.Duration, do func(time.Duration)) {
	heap.Push(&p.events, replayEvent{at, do})
}

func (p *replayInCore) decided(now time.Duration, q *replayed, what string) {
	p.verdicts = append(p.verdicts, verdict{now, q.id, what})
}

// run returns what was decided and how the lane looked.
func (p *replayInCore) run(t *testing.T, cfg Config, stream []replayed, end time.Duration) (looks []look) {
	k, err := core.New(core.Config(cfg.WithDefaults().Lanes[defaultLane]), nil)
	if err != nil {
		t.Fatal(err)
	}
	p.lane.name, p.lane.mu.core, p.requests = defaultLane, k, map[*core.Call]*replayed{}
	for i := range stream {
		p.later(stream[i].at, func(now time.Duration) { p.arrive(now, &stream[i]) })
	}
	for at := lookOffset; at < end; at += lookPeriod {
		p.later(at, func(now time.Duration) { looks = append(looks, look{now, p.lane.stats(now)}) })
	}
	p.later(end, func(now time.Duration) { k.Close(now) })
	last := time.Duration(-1)
	for tick := time.Duration(0); len(p.events) > 0; p.settled(last) {
		due := p.events[0].at
		if due == last {
			t.Fatalf("two events at %v: their order is not defined", due)
		}
		if at, ok := k.NextExpiry(); ok && at < min(due, tick) {
			k.Expire(at)
			last = at
			continue
		}
		if tick < due && tick < end {
			k.Tick(tick, p.lane.chanceLocked())
			p.expected = k.Expected()
			last = tick
			tick += core.TickPeriod
			continue
		}
		e := heap.Pop(&p.events).(replayEvent)
		e.do(e.at)
		last = e.at
	}
	return looks
}

func (p *replayInCore) arrive(now time.Duration, q *replayed) {
	k, rank := p.lane.mu.core, q.Priority.rank()
	c := &core.Call{Rank: rank, Cost: max(q.Cost, 1)}
	if q.waits > 0 {
		c.Deadline = now + q.waits
	}
	switch {
	case q.waits > 0 && q.waits <= p.expected:
		k.Refuse(rank, ReasonDeadline, false)
		p.decided(now, q, ReasonDeadline.String())
		return
	case k.Offer(rank, hashOf(&q.Request), false):
		p.decided(now, q, ReasonPriority.String())
		return
	}
	p.requests[c] = q
	k.Arrive(now, c, p.lane.chanceLocked(), !q.try)
	switch {
	case c.State != core.Waiting:
		p.outcome(now, c)
	case q.leaves > 0 && (q.waits == 0 || q.leaves < q.waits):
		p.later(now+q.leaves, func(now time.Duration) {
			if c.State == core.Waiting {
				k.Leave(now, c)
				p.decided(now, q, "left")
			}
		})
	}
}

// outcome is what becomes of a call that does not wait.
func (p *replayInCore) outcome(now time.Duration, c *core.Call) {
	q := p.requests[c]
	if c.State != core.Running {
		p.decided(now, q, c.Reason.String())
		return
	}
	p.decided(now, q, "admitted")
	p.later(now+q.service, func(now time.Duration) { p.lane.mu.core.Release(now, c, q.outcome) })
}

func (p *replayInCore) settled(now time.Duration) {
	for c := p.lane.mu.core.Settled(); c != nil; {
		next := c.Next()
		p.outcome(now, c)
		c = next
	}
}

// replayInController has the clients of a real controller do the same.
func replayInController(t *testing.T, cfg Config, stream []replayed, end time.Duration) (verdicts []verdict, looks []look) {
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	var mu sync.Mutex
	var wg sync.WaitGroup
	ask := func(q *replayed) {
		ctx, cancel := context.WithCancel(context.Background())
		if q.waits > 0 {
			ctx, cancel = context.WithTimeout(context.Background(), q.waits)
		}
		defer cancel()
		if q.leaves > 0 {
			time.AfterFunc(q.leaves, cancel)
		}
		admit := c.Admit
		if q.try {
			admit = c.TryAdmit
		}
		ticket, err := admit(ctx, q.Request)
		v := verdict{time.Since(begin), q.id, "admitted"}
		if err != nil {
			v.what = "left"
			if why, shed := ReasonOf(err); shed {
				v.what = why.String()
			}
		}
		mu.Lock()
		verdicts = append(verdicts, v)
		mu.Unlock()
		if err == nil {
			time.Sleep(q.service)
			ticket.Release(q.outcome)
		}
	}
	wg.Go(func() {
		for i := range stream {
			time.Sleep(stream[i].at - time.Since(begin))
			wg.Go(func() { ask(&stream[i]) })
		}
	})
	wg.Go(func() {
		for at := lookOffset; at < end; at += lookPeriod {
			time.Sleep(at - time.Since(begin))
			l, _ := c.Stats().Lane("")
			looks = append(looks, look{at, l})
		}
	})
	time.Sleep(end)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	ValidateQuiet(t, c)
	return verdicts, looks
}

func TestReplayDecidesAlikeInVirtualTimeAndInTheController(t *testing.T) {
	cfg := Config{Lanes: map[string]LaneConfig{defaultLane: {}}}
	lc := cfg.Lanes[defaultLane]
	lc.Queue.Capacity = 60
	cfg.Lanes[defaultLane] = lc
	const seed = 11
	stream, end := replayStream(seed)

	var inCore replayInCore
	wantLooks := inCore.run(t, cfg, stream, end)
	want := inCore.verdicts
	var got []verdict
	var looks []look
	synctest.Test(t, func(t *testing.T) { got, looks = replayInController(t, cfg, stream, end) })

	for _, v := range [][]verdict{want, got} {
		slices.SortFunc(v, func(a, b verdict) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
	}
	replayCoverage(t, want, wantLooks, len(stream))
	if len(got) != len(want) || len(looks) != len(wantLooks) {
		t.Fatalf("%d decisions and %d looks, want %d and %d", len(got), len(looks), len(want), len(wantLooks))
	}
	for i := range looks {
		if a, b := looks[i], wantLooks[i]; !reflect.DeepEqual(a, b) {
			t.Errorf("seed %d: the first look that differs is\n%s\nin the core it is\n%s", seed, a, b)
			break
		}
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("seed %d, decision %d of %d: %+v, in the core %+v", seed, i, len(got), got[i], want[i])
		}
	}
}

func (l look) String() string {
	l.Wait, l.Service = Histogram{}, Histogram{}
	return fmt.Sprintf("%v: limit %d (%s), ratio %v, inflight %d, queued %d, %s, arrivals %v, throughput %v, baseline %v, median %v, pressure %v",
		l.at, l.Limit, l.LimitWhy, l.ShedRatio, l.Inflight, l.Queued, l.QueueMode, l.Arrivals, l.Throughput, l.Baseline, l.Median, l.Pressure)
}

// replayCoverage asserts that the stream brought about what it is there for.
func replayCoverage(t *testing.T, verdicts []verdict, looks []look, requests int) {
	t.Helper()
	count := map[string]int{}
	for _, v := range verdicts {
		count[v.what]++
	}
	for _, what := range []string{"admitted", "left", "closed", "priority", "limit", "queue-full", "queue-timeout", "evicted", "deadline"} {
		if count[what] < 5 {
			t.Errorf("%d of the decisions are %q", count[what], what)
		}
	}
	moves, gateMoves, lifo, probing, resting := 0, 0, 0, 0, 0
	for i, l := range looks {
		if i > 0 && l.Limit != looks[i-1].Limit {
			moves++
		}
		if i > 0 && l.ShedRatio != looks[i-1].ShedRatio {
			gateMoves++
		}
		if l.QueueMode == "LIFO" {
			lifo++
		}
		if l.Probing {
			probing++
		}
		if l.Resting {
			resting++
		}
	}
	t.Logf("%d requests: %v; %d moves of the limit, %d of the gate, %d looks in LIFO, %d in a probe, %d in a rest", requests, count, moves, gateMoves, lifo, probing, resting)
	if requests < 5000 || moves < 20 || gateMoves < 20 || lifo < 20 || probing < 5 || resting < 5 {
		t.Error("the stream does not cover enough")
	}
}
