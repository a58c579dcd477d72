package admission

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// One stream of events goes through the core as the simulator drives it and
// through a real controller: same decisions at the same instants, same limits
// and ratios. What is found in simulation is thus true of the product.

// verdict is what became of a request.
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

// replayInController has the clients of a real controller play the stream.
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
			l.Demand = 0 // of a meter beside the core, which goes by when it is looked at
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
