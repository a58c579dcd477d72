package admission

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// B08: of two signals one reports overload and then stops reporting: it counts no
// more after its bound, without any request or event of its own, and the other is
// read all the time.
func TestB08StaleSignalDoesNotLatch(t *testing.T) {
	for name, then := range map[string]func(context.Context) (float64, error){
		"blocks": nil,
		"errs":   func(context.Context) (float64, error) { return 0, errMine },
		"panics": func(context.Context) (float64, error) { panic(errMine) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				calls := 0
				var readB atomic.Int32
				a := regulators.Func(func(ctx context.Context) (float64, error) {
					switch calls++; {
					case calls < 20:
						return 0.95, nil
					case then == nil:
						<-release
						return 0, errMine
					}
					return then(ctx)
				})
				b := regulators.Func(func(context.Context) (float64, error) { readB.Add(1); return 0.1, nil })
				rc := RegulatorConfig{Setpoint: 0.9, Period: 100 * time.Millisecond, MaxAge: time.Second}
				c := NewQuiet(t, Config{Regulators: map[string]RegulatorConfig{"a": rc, "b": rc}}, WithSignal("a", a), WithSignal("b", b))
				time.Sleep(1900 * time.Millisecond)
				if s := c.Stats().Signals[0]; s.Ratio == 0 || s.Stale {
					t.Fatalf("a does not ask for anything: %+v", s)
				}
				before, seen := runtime.NumGoroutine(), readB.Load()
				time.Sleep(2 * time.Second)
				s := c.Stats().Signals
				if !s[0].Stale || s[0].Ratio != 0 || s[1].Stale || readB.Load()-seen < 15 {
					t.Errorf("after 2 s of silence: a %+v, b %+v, b read %d times", s[0], s[1], readB.Load()-seen)
				}
				if n := Goroutines(before); n > before {
					t.Errorf("%d goroutines, %d before", n, before)
				}
				for i := range 50 {
					if err := c.Do(t.Context(), Request{Priority: NewPriority(T5, i)}, quick); err != nil {
						t.Fatalf("request %d: %v", i, err)
					}
				}
			})
		})
	}
}

// B11: probes pass at once whatever else is refused: no slot, a full queue, a signal, a
// keyed signal and a guard that refuse all. They take nothing of any of them and are
// no sample of the service time.
func TestB11ExemptPassAllRegulators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signal := regulators.Func(func(context.Context) (float64, error) { return 9, nil })
		m, g := newMeter(1), newTill(2)
		m.broken = func(context.Context) (map[string]float64, error) { return map[string]float64{"probe": 9}, nil }
		c := NewQuiet(t, Pinned(1, 1), WithSignal("s", signal), WithKeyedSignal("m", m), WithGuard("g", g))
		first := Request{Priority: NewPriority(T0, 0)}
		running, waiting := hold(t, c, first), enqueue(t.Context(), c, first)
		synctest.Wait()
		g.Lock()
		g.bound = 0
		g.Unlock()
		for range 500 {
			if c.Do(t.Context(), Request{Tenant: "probe", Priority: NewPriority(T5, 0)}, quick) == nil {
				t.Fatal("admitted past a guard that refuses all")
			}
			time.Sleep(10 * time.Millisecond)
		}
		before := only(t, c)
		if n := c.Stats().Keyed[0].Pressed; before.ShedRatio < 0.98 || n != 1 || before.Inflight != 1 || queued(t, c) != 1 {
			t.Errorf("ratio %v, %d pressed, %d inflight, %d queued", before.ShedRatio, n, before.Inflight, queued(t, c))
		}
		begin := time.Now()
		for range 300 {
			ticket, err := c.Admit(t.Context(), Request{Priority: Exempt, Tenant: "probe"})
			if err != nil {
				t.Fatal(err)
			}
			ticket.Release(Success)
		}
		took, after := time.Since(begin), only(t, c)
		if took > 0 || c.Stats().Exempt != 300 || after.Inflight != 1 || after.Service != before.Service {
			t.Errorf("%d exempt in %v, %d inflight, %d samples of them", c.Stats().Exempt, took, after.Inflight, after.Service.Total()-before.Service.Total())
		}
		running.Release(Success)
		got := <-waiting
		got.ticket.Release(Success)
		if len(g.holds()) != 0 || got.err != nil {
			t.Errorf("guard holds %v; the waiter: %v", g.holds(), got.err)
		}
	})
}

// FuzzRegulators drives keyed signals and guards with random requests: whatever
// becomes of them, at the end every counter is at zero and no guard passed its
// bound.
func FuzzRegulators(f *testing.F) {
	f.Add(uint64(1), []byte("a request is shed"))
	f.Add(uint64(2), []byte{0, 255, 17, 3, 90, 200, 1, 1, 1, 64, 128, 192, 7, 77})
	f.Fuzz(func(t *testing.T, seed uint64, ops []byte) {
		synctest.Test(t, func(t *testing.T) { driveRegulators(t, seed, ops[:min(len(ops), 300)]) })
	})
}

func driveRegulators(t *testing.T, seed uint64, ops []byte) {
	rng := rand.New(rand.NewPCG(seed, 3))
	names := []string{"", "a", "b", "c"}
	m := newMeter(1)
	var mu sync.Mutex
	m.broken = func(context.Context) (map[string]float64, error) {
		mu.Lock()
		defer mu.Unlock()
		return map[string]float64{"a": 3 * rng.Float64(), "b": 3*rng.Float64() - 0.5}, nil
	}
	bytes, costs := newTill(100), newTill(6)
	guard := func(by, counts string) RegulatorConfig { return RegulatorConfig{By: by, Counts: counts} }
	cfg := Pinned(4, 3)
	cfg.Scorecard.Rules = []scorecard.Rule{{Name: "tenant", Match: "tenant:*", Cap: scorecard.Cap{N: 3}}}
	cfg.Regulators = map[string]RegulatorConfig{
		"bytes": guard("", "bytes"), "costs": guard("key", "cost"), "m": {By: "tenant", Period: 100 * time.Millisecond},
	}
	c := NewQuiet(t, cfg, WithGuard("bytes", bytes), WithGuard("costs", costs), WithKeyedSignal("m", m),
		WithStages(&stageFuncs{name: "s", enter: func(r *Request) error {
			if r.Op == "no" {
				return errMine
			}
			return nil
		}}))
	var wg sync.WaitGroup
	for _, op := range ops {
		r := Request{Tenant: names[op&3], Key: names[op>>2&3], Cost: int(op >> 4 & 3), Bytes: int64(op) / 3, Priority: NewPriority(Tier(op%6), int(op)%NumCohorts)}
		if op%11 == 0 {
			r.Op = "no"
		}
		patience, works := time.Duration(op%7+1)*20*time.Millisecond, time.Duration(op%5)*15*time.Millisecond
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if ticket, err := c.Admit(ctx, r); err == nil {
				time.Sleep(works)
				ticket.Release(Outcome(op % 5))
				ticket.Release(Success)
			}
		})
		switch op % 13 {
		case 0: // the guards go by something else from now on
			next := cfg
			next.Regulators = map[string]RegulatorConfig{"bytes": guard("tenant", "bytes"), "costs": guard("", "cost")}
			if err := c.Apply(next); err != nil {
				t.Fatal(err)
			}
		case 1:
			if err := c.Apply(cfg); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Duration(op%4) * 10 * time.Millisecond)
	}
	wg.Wait()
	if x, y := bytes.holds(), costs.holds(); len(x)+len(y) != 0 || bytes.highest > 100 || costs.highest > 6 {
		t.Errorf("held at the end: %v and %v; at most %d and %d (seed %d)", x, y, bytes.highest, costs.highest, seed)
	}
}
