package core

import (
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/codel"
	"github.com/spillway-go/spillway/pid"
)

// call makes a call of a tier, with what is left of its deadline at now.
func call(tier, cost int, deadline time.Duration) *Call {
	return &Call{Rank: tier * NumCohorts, Cost: cost, Deadline: deadline}
}

func expect(t *testing.T, why string, c *Call, state State, reason Reason) {
	t.Helper()
	if c.State != state || state == Refused && c.Reason != reason {
		t.Errorf("%s: state %d, reason %v; want %d, %v", why, c.State, c.Reason, state, reason)
	}
}

// told drains the settled list.
func told(l *Lane) (calls []*Call) {
	for c := l.Settled(); c != nil; c = c.Next() {
		calls = append(calls, c)
	}
	return calls
}

func TestLaneServesTiersInOrder(t *testing.T) {
	l := newLane(t, Config{Limit: pid.LimitConfig{Fixed: 1}, Deadline: time.Minute})
	holder := call(0, 1, 0)
	l.Arrive(0, holder, 0.5, true)
	var waiters []*Call
	for i, tier := range []int{3, 5, 0, 3, 1, 0} {
		c := call(tier, 1, 0)
		l.Arrive(time.Duration(i)*ms, c, 0.5, true)
		expect(t, "the slot is taken", c, Waiting, 0)
		waiters = append(waiters, c)
	}
	// Better tiers first, the older first within a tier while all is calm.
	for i, want := range []int{2, 5, 4, 0, 3, 1} {
		l.Release(10*ms, holder, Success)
		if got := told(l); len(got) != 1 || got[0] != waiters[want] {
			t.Fatalf("grant %d is not for waiter %d", i, want)
		}
		holder = waiters[want]
		expect(t, "granted", holder, Running, 0)
	}
	if l.Release(20*ms, holder, Success); l.Inflight() != 0 {
		t.Errorf("inflight is %d at the end", l.Inflight())
	}
}

func TestLaneCosts(t *testing.T) {
	l := newLane(t, Config{Limit: pid.LimitConfig{Fixed: 10}, Deadline: time.Minute})
	six, five, one := call(3, 6, 0), call(3, 5, 0), call(3, 1, 0)
	l.Arrive(0, six, 0.5, true)
	expect(t, "6 of 10", six, Running, 0)
	l.Arrive(0, five, 0.5, true)
	expect(t, "5 do not fit", five, Waiting, 0)
	l.Arrive(0, one, 0.5, true)
	expect(t, "1 would fit, but waits its turn", one, Waiting, 0)
	l.Leave(ms, five)
	expect(t, "who leaves lets the next through", one, Running, 0)
	told(l)
	big := call(0, 15, 0)
	l.Arrive(ms, big, 0.5, true)
	expect(t, "15 of 10 wait for all others", big, Waiting, 0)
	l.Release(2*ms, six, Success)
	expect(t, "not yet alone", big, Waiting, 0)
	l.Release(2*ms, one, Success)
	expect(t, "alone", big, Running, 0)
	if inflight, limit, queued, pressure := l.Load(); inflight != 10 || limit != 10 || queued != 0 || pressure != 1 {
		t.Errorf("load is %d of %d, %d wait, %v", inflight, limit, queued, pressure)
	}
}

func TestLaneRefusals(t *testing.T) {
	l := newLane(t, Config{Limit: pid.LimitConfig{Fixed: 1}, Queue: codel.Config{Capacity: 1}, Deadline: 300 * ms})
	l.Arrive(0, call(3, 1, 0), 0.5, true)
	c := call(0, 1, 0)
	l.Arrive(0, c, 0.5, false)
	expect(t, "will not wait", c, Refused, ReasonLimit)
	old, better, worse := call(3, 1, 0), call(2, 1, 0), call(4, 1, 0)
	l.Arrive(0, old, 0.5, true)
	l.Arrive(0, worse, 0.5, true)
	expect(t, "the queue is full of better ones", worse, Refused, ReasonQueueFull)
	l.Arrive(0, better, 0.5, true)
	expect(t, "gives way to a better one", old, Refused, ReasonEvicted)
	if got := told(l); len(got) != 1 || got[0] != old {
		t.Errorf("told %v, want the evicted one", got)
	}
	l.Expire(99 * ms)
	expect(t, "within its allowance, a third of 300 ms", better, Waiting, 0)
	l.Expire(102 * ms)
	expect(t, "past it", better, Refused, ReasonQueueTimeout)
	late := call(0, 1, 0)
	l.Arrive(200*ms, late, 0.5, true)
	l.Close(200 * ms)
	expect(t, "closed", late, Refused, ReasonClosed)
	c = call(0, 1, 0)
	l.Arrive(200*ms, c, 0.5, true)
	expect(t, "after Close", c, Refused, ReasonClosed)
	var v View
	l.View(200*ms, &v)
	if got := v.Tiers[0].Shed; got[ReasonLimit] != 1 || got[ReasonClosed] != 2 {
		t.Errorf("t0 was shed %v", got)
	}
}

// A waiter whose deadline is nearer than a median service time is passed over:
// his answer would come too late.
func TestGrantSkipsTheDead(t *testing.T) {
	l := newLane(t, pinned(1))
	now := time.Duration(0)
	for range 40 { // the median: 100 ms
		c := call(3, 1, 0)
		l.Arrive(now, c, 0.5, true)
		now += 100 * ms
		l.Release(now, c, Success)
		l.Tick(now, 0.5)
	}
	holder, dead, live := call(3, 1, 0), call(3, 1, now+150*ms), call(3, 1, now+time.Second)
	l.Arrive(now, holder, 0.5, true)
	l.Arrive(now, dead, 0.999, true)
	l.Arrive(now, live, 0.999, true)
	l.Release(now+59*ms, holder, Success)
	expect(t, "91 ms are too few", dead, Refused, ReasonDeadline)
	expect(t, "the slot went on", live, Running, 0)
	if l.tick.lost != 1 {
		t.Errorf("the queue lost %d, want 1", l.tick.lost)
	}
}

// watch is a limit that writes down what it is shown.
type watch struct {
	samples []pid.Sample
	use     pid.Usage
}

func (*watch) Limit() int                          { return 2 }
func (w *watch) Observe(s pid.Sample)              { w.samples = append(w.samples, s) }
func (w *watch) Tick(_ time.Duration, u pid.Usage) { w.use = u }

func TestLimitIsShownWhatCounts(t *testing.T) {
	for _, tc := range []struct {
		why      string
		deadline time.Duration // of the call
		lane     time.Duration // of the lane
		outcome  Outcome
		ends     time.Duration
		want     string // S, success, or O, overload, for each sample
	}{
		{"success", 0, 0, Success, 300 * ms, "S"},
		{"success in time", 300 * ms, 0, Success, 300 * ms, "S"},
		{"success too late for its caller", 300 * ms, 0, Success, 301 * ms, "O"},
		{"too late for the lane's callers", 0, 200 * ms, Success, 300 * ms, "O"},
		{"its own deadline stands above the lane's", time.Second, 200 * ms, Success, 300 * ms, "S"},
		{"overload", 0, 0, Overload, 300 * ms, "O"},
		{"failure", 0, 0, Failure, 300 * ms, ""},
		{"ignore", 0, 0, Ignore, 300 * ms, ""},
		{"runs past its deadline: known before it ends, and once", 300 * ms, 0, Success, 800 * ms, "O"},
		{"the same, and says so", 300 * ms, 0, Overload, 800 * ms, "O"},
		{"the same, and fails", 300 * ms, 0, Failure, 800 * ms, "O"},
	} {
		w := &watch{}
		l, err := New(Config{Deadline: tc.lane}, w)
		if err != nil {
			t.Fatal(err)
		}
		c := call(3, 1, tc.deadline)
		l.Arrive(0, c, 0.5, true)
		for now := 50 * ms; now < tc.ends && tc.ends > 500*ms; now += 50 * ms {
			l.Tick(now, 0.5)
		}
		l.Release(tc.ends, c, tc.outcome)
		var got strings.Builder
		for _, s := range w.samples {
			if s.Inflight != 1 || s.Service <= 0 || s.Service > tc.ends {
				t.Errorf("%s: sample %+v", tc.why, s)
			}
			got.WriteByte(map[bool]byte{false: 'S', true: 'O'}[s.Overload])
		}
		if got.String() != tc.want {
			t.Errorf("%s: the law saw %q, want %q", tc.why, got.String(), tc.want)
		}
	}
}

func TestUsageAddsUp(t *testing.T) {
	w := &watch{}
	l, err := New(Config{Queue: codel.Config{Capacity: 1}, Deadline: 3 * time.Second}, w)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 { // two run, one waits and is evicted by the next
		l.Arrive(0, call(3, 1, 0), 0.5, true)
	}
	l.Expire(500 * ms)
	l.Expire(0) // back in time: nothing is counted twice
	c := call(3, 1, 0)
	if l.Arrive(0, c, 0.5, false); c.Arrived != 500*ms { // will not wait
		t.Errorf("arrived at %v, want 500ms: time stands still", c.Arrived)
	}
	l.Tick(900*ms, 0.25)
	want := pid.Usage{Area: 1.8, Blocked: 3, Lost: 2, Deadline: 3 * time.Second, Chance: 0.25}
	if w.use != want {
		t.Errorf("usage is %+v, want %+v", w.use, want)
	}
	l.Tick(2*time.Second, 0.25) // the waiter's allowance, a third of 3 s, is over
	if w.use.Lost != 3 {
		t.Errorf("lost %d, want 3", w.use.Lost)
	}
}

// A tier that with the better ones asks for about all that the lane can do may wait for
// a part of its allowance, the less the more the gate sheds; those that ask for little
// may wait longer then, and lanes of few requests keep their whole allowance.
func TestAllowanceFollowsTheLoad(t *testing.T) {
	const third = time.Second / 3
	for _, tt := range []struct {
		slots int
		load  float64
		least float64 // worth of t3, which is most of the load, at least
		most  float64
	}{
		{50, 0.5, 1, 1},
		{50, 0.8, mostWorth, mostWorth},
		{50, 1.1, leastWorth, mostWorth},
		{50, 3, leastWorth, leastWorth},
		{50, 10, leastWorth, leastWorth},
		{2, 10, 0.7, 1}, // 0.9 at 20/s; counted over about a second by chance up to 26/s
	} {
		s := newSim(t, pinned(tt.slots), 11)
		s.rank = func() int {
			if s.rand.Float64() < 0.05 {
				return NumCohorts // t1
			}
			return 3 * NumCohorts
		}
		s.run(10*time.Second, tt.load*10*float64(tt.slots))
		want := 1.0
		if s.lane.gate.boundary < NumRanks {
			want = betterWorth
		}
		if got := s.lane.worth(1, third); got != want {
			t.Errorf("%d slots at %vx: t1 is given %v of its allowance, want %v", tt.slots, tt.load, got, want)
		}
		if got := s.lane.worth(3, third); got < tt.least || got > tt.most {
			t.Errorf("%d slots at %vx, ratio %.2f: t3 is given %v of its allowance, want %v to %v", tt.slots, tt.load, s.lane.ShedRatio(), got, tt.least, tt.most)
		}
	}
}

// A signal may shed where little is asked for, or nothing is known of the load: who is
// shed himself has nobody to make room for him, and waits no longer for it.
func TestAllowanceOfTheShedIsNoLonger(t *testing.T) {
	s := newSim(t, pinned(50), 11)
	s.lane.SetSignals(0.3, "memory")
	s.rank = func() int { return []int{0, 3 * NumCohorts}[s.rand.IntN(2)] }
	s.run(5*time.Second, 200)
	if tier := s.lane.gate.boundary / NumCohorts; tier != 3 {
		t.Fatalf("tier %d is shed, want 3", tier)
	}
	for tier, want := range map[int]float64{0: betterWorth, 3: 1, 5: 1} {
		if got := s.lane.worth(tier, time.Second/3); got != want {
			t.Errorf("t%d is given %v of its allowance, want %v", tier, got, want)
		}
	}
}
