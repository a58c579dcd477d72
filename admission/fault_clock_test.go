package admission

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
)

// B14: the clock jumps, steps back, or stands still for a month. What the
// decisions run on is the core, which is told the time; the shell's own clock
// is monotonic and cannot step.

// clockwork is a lane under steady load, 200 requests/s of 50 ms each, whose
// clock can be set.
type clockwork struct {
	*testing.T
	lane *core.Lane
	now  time.Duration
	step int
	runs map[*core.Call]int // until which step
}

const clockStep = 5 * time.Millisecond

func newClockwork(t *testing.T) *clockwork {
	l, err := core.New(core.Config{Limit: LimitConfig{Initial: 8, Min: 4, Max: 40}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &clockwork{T: t, lane: l, runs: map[*core.Call]int{}}
}

func (w *clockwork) run(d time.Duration) {
	w.Helper()
	for range d / clockStep {
		w.now += clockStep
		w.step++
		for call, until := range w.runs {
			if until <= w.step {
				w.lane.Release(w.now, call, Success)
				delete(w.runs, call)
			}
		}
		call := &core.Call{Rank: 400, Cost: 1}
		if !w.lane.Offer(call.Rank, uint32(w.step)*2654435761, false) {
			if w.lane.Arrive(w.now, call, 0.5, true) == core.Running {
				w.runs[call] = w.step + 10
			}
		}
		if w.step%10 == 0 {
			w.lane.Tick(w.now, 0.5)
		}
		for call := w.lane.Settled(); call != nil; call = call.Next() {
			if call.State == core.Running {
				w.runs[call] = w.step + 10
			}
		}
	}
	if l, r := w.lane.Limit(), w.lane.ShedRatio(); l < 4 || l > 40 || !(r >= 0 && r <= 0.99) {
		w.Errorf("limit %d, shed ratio %v: out of bounds", l, r)
	}
}

func (w *clockwork) view() (v core.View) {
	w.lane.View(w.now, &v)
	return v
}

func (w *clockwork) shed() (n uint64) {
	v := w.view()
	for _, tier := range v.Tiers {
		for _, s := range tier.Shed {
			n += s
		}
	}
	return n
}

// quiet lets all come out and looks for what is left.
func (w *clockwork) quiet() {
	w.Helper()
	for call := range w.runs {
		w.lane.Release(w.now, call, Success)
	}
	for call := w.lane.Settled(); call != nil; call = w.lane.Settled() {
		w.lane.Release(w.now, call, Success)
	}
	v := w.view()
	tier := v.Tiers[400/NumCohorts]
	if v.Inflight != 0 || v.Queued != [NumTiers]int{} || tier.Arrived != tier.Admitted+w.shed() || tier.Admitted != tier.Outcomes[Success] {
		w.Errorf("inflight %d, queued %v, %+v", v.Inflight, v.Queued, tier)
	}
}

// B14 (a): a month in which nobody asks is not caught up with step by step.
func TestIdleMonthCostsNothing(t *testing.T) {
	t.Run("core", func(t *testing.T) {
		best := time.Hour // a tick for every 50 ms of the month would take minutes
		for range 3 {
			w := newClockwork(t)
			w.run(10 * time.Second)
			w.now += 30 * 24 * time.Hour
			begin := time.Now()
			w.run(clockStep)
			w.lane.Tick(w.now, 0.5)
			best = min(best, time.Since(begin))
			w.quiet()
		}
		t.Logf("the first request after a month took %v", best)
		if best > time.Millisecond {
			t.Errorf("the first request after a month took %v", best)
		}
	})
	t.Run("shell", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := NewQuiet(t, Config{})
			hold(t, c, Request{}).Release(Success)
			time.Sleep(30 * 24 * time.Hour)
			l := c.lane()
			l.mu.Lock()
			ticked := l.mu.core.TickedAt()
			l.mu.Unlock()
			if ticked > time.Minute {
				t.Errorf("the last tick was after %v of idleness", ticked)
			}
			got := <-enqueue(t.Context(), c, Request{})
			if got.err != nil || got.took != 0 {
				t.Fatalf("%v after %v, want a slot at once", got.err, got.took)
			}
			time.Sleep(200 * time.Millisecond)
			got.ticket.Release(Success)
			l.mu.Lock()
			defer l.mu.Unlock()
			if at := l.mu.core.TickedAt(); c.now()-at > core.TickPeriod {
				t.Errorf("the loop does not tick: last %v ago", c.now()-at)
			}
		})
	})
}

// B14 (b): at a jump only those can be shed who waited.
func TestClockJumpsAhead(t *testing.T) {
	w := newClockwork(t)
	w.run(10 * time.Second)
	before, waiting := w.shed(), uint64(0)
	for _, n := range w.view().Queued {
		waiting += uint64(n)
	}
	w.now += 365 * 24 * time.Hour
	w.run(clockStep * 10)
	if n := w.shed() - before; n > waiting {
		t.Errorf("%d shed at the jump, %d were waiting", n, waiting)
	}
	w.run(time.Minute)
	w.quiet()
}

// B14 (c): a clock that was set back stands still until it has caught up. Requests are
// served all the while, since no decision but expiry needs time to pass.
func TestClockStepsBack(t *testing.T) {
	w := newClockwork(t)
	w.run(10 * time.Second)
	admitted := w.view().Tiers[400/NumCohorts].Admitted
	w.now -= time.Hour
	w.run(2 * time.Minute)
	if n := w.view().Tiers[400/NumCohorts].Admitted - admitted; n < 120*60 {
		t.Errorf("%d admitted in the two minutes after the step back, want at least 60 a second", n)
	}
	w.now += time.Hour
	w.run(10 * time.Second)
	if at := w.lane.TickedAt(); w.now-at > 10*clockStep {
		t.Errorf("last tick %v ago once the clock has caught up", w.now-at)
	}
	w.quiet()
}

// B14 (d).
func TestWaitIsNeverNegative(t *testing.T) {
	l, err := core.New(core.Config{Limit: LimitConfig{Fixed: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &clockwork{T: t, lane: l, now: time.Second, runs: map[*core.Call]int{}}
	first, second := &core.Call{Rank: 400, Cost: 1}, &core.Call{Rank: 400, Cost: 1}
	for _, call := range []*core.Call{first, second} {
		l.Offer(400, 0, false)
		l.Arrive(w.now, call, 0.5, true)
	}
	w.now -= time.Microsecond
	l.Release(w.now, first, Success)
	if l.Settled() != second || second.State != core.Running || second.Waited() != 0 {
		t.Errorf("state %v, waited %v, want it to run after no wait", second.State, second.Waited())
	}
	l.Release(w.now, second, Success)
	w.quiet()
}

func TestShellsClockIsMonotonic(t *testing.T) {
	c := NewQuiet(t, Config{})
	if c.start == c.start.Round(0) {
		t.Error("the controller's clock follows the wall clock")
	}
}
