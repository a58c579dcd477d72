package admission

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// Promise 7: a signal that errs, hangs, panics or ends its goroutine, after
// it had called for shedding, neither blocks nor sheds; the miss is counted and
// the others are read as before.
func TestBrokenSignalsFailOpen(t *testing.T) {
	release := make(chan struct{})
	for name, broken := range map[string]func(context.Context) (float64, error){
		"errs":   func(context.Context) (float64, error) { return 9, errMine },
		"panics": func(context.Context) (float64, error) { panic(errMine) },
		"waits":  func(ctx context.Context) (float64, error) { <-ctx.Done(); return 9, ctx.Err() },
		"hangs":  func(context.Context) (float64, error) { <-release; return 0, nil },
		"ends":   func(context.Context) (float64, error) { runtime.Goexit(); return 0, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release = make(chan struct{})
				breaks := time.Now().Add(2 * time.Second)
				source := regulators.Func(func(ctx context.Context) (float64, error) {
					if time.Now().Before(breaks) {
						return 2, nil
					}
					return broken(ctx)
				})
				calm := regulators.Func(func(context.Context) (float64, error) { return 0.1, nil })
				c := NewQuiet(t, Config{}, WithSignal("broken", source), WithSignal("calm", calm))
				ask := func(n int) (refused int) {
					for range n {
						if work(t.Context(), c, Request{Priority: NewPriority(T5, 0)}, 10*time.Millisecond) != nil {
							refused++
							time.Sleep(10 * time.Millisecond)
						}
					}
					return refused
				}
				if ask(200) == 0 {
					t.Error("nothing was shed while the signal worked")
				}
				time.Sleep(3 * time.Second) // three periods after the last reading it is none
				if n := ask(50); n != 0 {
					t.Errorf("%d of 50 shed by a signal that has no reading", n)
				}
				signals := c.Stats().Signals
				if s := signals[0]; !s.Stale || s.Misses == 0 || s.Ratio != 0 || s.Err == nil {
					t.Errorf("the broken signal shows %+v", s)
				}
				if s := signals[1]; s.Stale || s.Misses != 0 || s.Age > time.Second {
					t.Errorf("the other shows %+v", s)
				}
				close(release)
			})
		})
	}
}

// A signal above its setpoint sheds, the least important first, in the lanes it
// is bound to and no others, and is named as what does it.
func TestSignalShedsByPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane := LaneConfig{Limit: LimitConfig{Fixed: 100}, Gate: GateConfig{Law: "off"}}
		var lag regulators.Value
		lag.Set(0)
		cfg := Config{
			Lanes:      map[string]LaneConfig{"read": lane, "write": lane},
			Regulators: map[string]RegulatorConfig{"lag": {Lanes: []string{"write"}, Setpoint: 2}},
		}
		var mu sync.Mutex
		var edges []GateEdge
		c := NewQuiet(t, cfg, WithSignal("lag", &lag), WithHooks(Hooks{Gate: func(e GateEdge) {
			mu.Lock()
			defer mu.Unlock()
			edges = append(edges, e)
		}}))
		offer := func(d time.Duration) (shed map[string]int) {
			shed = map[string]int{}
			var wg sync.WaitGroup
			arrivals(&wg, 400, d, func(i int) {
				r := Request{Lane: []string{"read", "write"}[i%2], Priority: NewPriority([]Tier{T1, T5}[i/2%2], i)}
				if err := c.Do(context.Background(), r, quick); err != nil {
					mu.Lock()
					defer mu.Unlock()
					shed[r.Lane+" "+r.Priority.Tier().String()]++
					var e *ShedError
					if !errors.As(err, &e) || e.Reason != ReasonPriority {
						t.Errorf("err = %v, want reason priority", err)
					}
				}
			})
			wg.Wait()
			return shed
		}
		if shed := offer(2 * time.Second); len(shed) != 0 {
			t.Errorf("shed %v below the setpoint", shed)
		}
		lag.Set(2.1)
		offer(2 * time.Second)
		if l, _ := c.Stats().Lane("write"); l.Binding != "lag" || l.ShedRatio <= 0 || l.Threshold.Tier() != T5 {
			t.Errorf("binding %q, ratio %v, threshold %v", l.Binding, l.ShedRatio, l.Threshold)
		}
		lag.Set(2)
		if shed := offer(time.Second); shed["write t5"] == 0 || len(shed) != 1 {
			t.Errorf("shed %v, want t5 of the write lane alone", shed)
		}
		lag.Set(0)
		offer(5 * time.Second)
		if shed := offer(time.Second); len(shed) != 0 {
			t.Errorf("shed %v after the signal has calmed", shed)
		}
		if len(edges) != 2 || edges[0].Lane != "write" || edges[0].Ratio <= 0 || edges[1].Ratio != 0 {
			t.Errorf("the hook was told %+v, want one beginning and one end", edges)
		}
	})
}
