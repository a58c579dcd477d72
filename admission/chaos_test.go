package admission

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// Everything at once, in real time and parallel: lanes come and go, modes switch,
// limits and rules move, work panics or ends its goroutine, tickets are released
// from copies, hooks and stages call back. Then all is quiet, or closed midway.
func TestChaos(t *testing.T) {
	for seed := range uint64(6) {
		chaos(t, seed, seed%2 == 1)
	}
}

func chaos(t *testing.T, seed uint64, closeMidway bool) {
	before := runtime.NumGoroutine()
	var c *Controller
	var p regulators.Value
	stages := &stageFuncs{name: "s", enter: func(r *Request) error {
		switch rand.IntN(50) {
		case 0:
			return errMine
		case 1:
			panic("enter")
		case 2:
			runtime.Goexit()
		case 3:
			c.Stats()
		}
		return nil
	}, exit: func(*Request, Outcome) {
		if rand.IntN(50) == 0 {
			panic("exit")
		}
	}}
	p.Set(0)
	c, err := New(Config{}, WithStages(stages), WithSignal("lag", &p), WithHooks(Hooks{
		Shed: func(context.Context, Refusal) {
			if rand.IntN(100) == 0 {
				panic("shed")
			}
		},
		Limit: func(LimitMove) { c.Stats() },
		Gate:  func(GateEdge) { c.Config() },
	}))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var stop atomic.Bool
	one := func(rng *rand.Rand) {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer func() { _ = recover() }()
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(8000))*time.Microsecond)
			defer cancel()
			if rng.IntN(3) == 0 {
				time.AfterFunc(time.Duration(rng.IntN(2000))*time.Microsecond, cancel)
			}
			r := Request{
				Lane: []string{"", "a", "b"}[rng.IntN(3)], Priority: NewPriority(Tier(rng.IntN(6)), rng.IntN(128)),
				Tenant: string(rune('a' + rng.IntN(8))), Cost: rng.IntN(4), Key: string(rune('a' + rng.IntN(20))),
			}
			if rng.IntN(3) == 0 {
				_ = c.Do(ctx, r, func(context.Context) error {
					switch rng.IntN(5) {
					case 0:
						panic("work")
					case 1:
						runtime.Goexit()
					}
					time.Sleep(time.Duration(rng.IntN(500)) * time.Microsecond)
					return nil
				})
				return
			}
			ask := c.Admit
			if rng.IntN(3) == 0 {
				ask = c.TryAdmit
			}
			ticket, err := ask(ctx, r)
			if err != nil {
				return
			}
			other := ticket
			var twice sync.WaitGroup
			twice.Go(func() { defer func() { _ = recover() }(); other.Release(Outcome(rand.IntN(6))) })
			defer twice.Wait()
			time.Sleep(time.Duration(rng.IntN(500)) * time.Microsecond)
			ticket.Release(Success)
		}()
		<-ended
	}
	for i := range 48 {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() {
			for !stop.Load() {
				one(rng)
			}
		})
	}
	wg.Go(func() {
		rng := rand.New(rand.NewPCG(seed, 999))
		for !stop.Load() {
			cfg := Config{Mode: []Mode{Enforce, Enforce, Enforce, Shadow, Off}[rng.IntN(5)], Lanes: map[string]LaneConfig{}}
			for _, name := range []string{"a", "b"} {
				if rng.IntN(2) == 0 {
					lc := LaneConfig{}
					if rng.IntN(2) == 0 {
						lc.Limit.Fixed = 1 + rng.IntN(6)
					}
					lc.Queue.Capacity = rng.IntN(8)
					cfg.Lanes[name] = lc
				}
			}
			if rng.IntN(2) == 0 {
				cfg.Scorecard.Rules = []scorecard.Rule{{Name: "t", Match: "tenant:*", Cap: scorecard.Cap{N: 1 + rng.IntN(3)}}}
			}
			_ = c.Apply(cfg)
			p.Set(rng.Float64() * 2)
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
		}
	})
	time.Sleep(1500 * time.Millisecond)
	if closeMidway {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
	stop.Store(true)
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		buf := make([]byte, 1<<20)
		t.Fatalf("seed %d: somebody never came back\n%s", seed, buf[:runtime.Stack(buf, true)])
	}
	p.Set(0)
	ValidateQuiet(t, c)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	after := runtime.NumGoroutine()
	for begin := time.Now(); after > before+3 && time.Since(begin) < 10*time.Second; after = runtime.NumGoroutine() {
		time.Sleep(time.Millisecond)
	}
	if after > before+3 {
		t.Errorf("seed %d: %d goroutines, %d before", seed, after, before)
	}
	if t.Failed() {
		t.Fatalf("seed %d", seed)
	}
}
