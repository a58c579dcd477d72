package peers

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

const ms = time.Millisecond

// lane drives a law in virtual time, tick by tick.
type lane struct {
	law  pid.Limit
	now  time.Duration
	use  pid.Usage
	owed float64
}

func newLane(t *testing.T, name string) *lane {
	t.Helper()
	law, err := New(name)
	if err != nil {
		t.Fatal(err)
	}
	l := &lane{law: law}
	l.law.Tick(0, l.use)
	return l
}

// run has the lane serve so many requests a second for a while, with all slots
// taken.
func (l *lane) run(d time.Duration, rate float64, service time.Duration) {
	for end := l.now + d; l.now < end; {
		l.now += pid.TickPeriod
		l.use.Area += float64(l.law.Limit()) * pid.TickPeriod.Seconds()
		l.use.Blocked++
		for l.owed += rate * pid.TickPeriod.Seconds(); l.owed >= 1; l.owed-- {
			l.law.Observe(pid.Sample{Service: service, Inflight: l.law.Limit()})
		}
		l.law.Tick(l.now, l.use)
	}
}

// saturated is a back end of n servers, 100 ms each, that queues what is beyond.
func (l *lane) saturated(d time.Duration, n float64) {
	for end := l.now + d; l.now < end; {
		limit := float64(l.law.Limit())
		l.run(pid.TickPeriod, min(limit, n)*10, time.Duration(max(1, limit/n)*float64(100*ms)))
	}
}

func (l *lane) want(t *testing.T, what string, from, to int) {
	t.Helper()
	if got := l.law.Limit(); got < from || got > to {
		t.Errorf("%s: limit is %d, want %d to %d", what, got, from, to)
	}
}

func TestNew(t *testing.T) {
	for _, name := range Names() {
		if law, err := New(name); err != nil || law == nil {
			t.Errorf("%s: %v, %v", name, law, err)
		}
	}
	law, err := New("netflix")
	if law != nil || err == nil || !strings.Contains(err.Error(), `law is "netflix": must be one of cinnamon, envoy`) {
		t.Errorf("netflix: %v, %v", law, err)
	}
}

func TestStatic20(t *testing.T) {
	l := newLane(t, "static20")
	l.saturated(time.Minute, 5)
	l.want(t, "always", 20, 20)
}

func TestEnvoy(t *testing.T) {
	l := newLane(t, "envoy")
	l.want(t, "start", 3, 3)
	l.run(150*ms, 1000, 100*ms) // what began before the probe does not count in it
	l.want(t, "fifty requests measured", 3, 3)
	l.run(100*ms, 1000, 100*ms)
	l.want(t, "1.25 * 3 and its root", 5, 5)
	l.run(100*ms, 1000, 100*ms)
	l.want(t, "1.25 * 5 and its root", 8, 8)
	l.run(100*ms, 1000, time.Second)
	l.want(t, "half and its root", 6, 6)

	l = newLane(t, "envoy")
	l.saturated(time.Minute, 50)
	before := l.law.Limit()
	l.want(t, "50 servers", 50, 90)
	l.saturated(2*time.Second, 50)
	if got := l.law.Limit(); got != 3 {
		t.Errorf("after a minute the limit is %d, want 3", got)
	}
	l.saturated(20*time.Second, 50)
	l.want(t, "and back", before-10, before+10)
}

// Five updates in a row at the floor are a reason to measure again: the back end
// has become slow, not full.
func TestEnvoyLeavesItsFloor(t *testing.T) {
	l := newLane(t, "envoy")
	l.run(time.Second, 1000, 10*ms)
	l.run(3*time.Second, 1000, 100*ms)
	l.run(3*time.Second, 1000, 100*ms)
	if got := l.law.Limit(); got <= 20 {
		t.Errorf("limit is %d: it still goes by what was fast", got)
	}
}

// Whatever comes, limits keep to what the laws say of their bounds.
func TestBounds(t *testing.T) {
	bounds := map[string][2]int{"cinnamon": {1, 1000}, "envoy": {3, 1000}, "failsafe": {1, 200}, "static20": {20, 20}}
	const seed = 7
	for _, name := range Names() {
		r := rand.New(rand.NewPCG(seed, seed))
		l := newLane(t, name)
		for range 20_000 {
			service := time.Duration(math.Exp(18+3*r.NormFloat64())) + 1
			l.use.Chance = r.Float64()
			l.run(pid.TickPeriod, 4000*r.Float64(), service)
			if b := bounds[name]; l.law.Limit() < b[0] || l.law.Limit() > b[1] {
				t.Fatalf("%s: limit is %d, seed %d", name, l.law.Limit(), seed)
			}
		}
	}
}

func TestSeries(t *testing.T) {
	x, y := lately{most: 4}, lately{most: 4}
	for i, v := range []float64{100, 1, 2, 3, 4} {
		x.add(v)
		y.add(-2 * v)
		if i == 0 && x.median() != 100 {
			t.Errorf("median of one is %v", x.median())
		}
	}
	if !slices.Equal(x.values, []float64{1, 2, 3, 4}) || x.mean() != 2.5 || x.median() != 3 {
		t.Errorf("%v: mean %v, median %v", x.values, x.mean(), x.median())
	}
	if got := covariance(&x, &x); got != 1.25 {
		t.Errorf("variance is %v", got)
	}
	if got := covariance(&x, &y); got != -2.5 {
		t.Errorf("covariance is %v", got)
	}
	if got, want := variation(&x), math.Sqrt(1.25)/2.5; got != want {
		t.Errorf("variation is %v, want %v", got, want)
	}
	a := newAverage(3, 2)
	for i, want := range []float64{4, 3, 5} { // plain, plain, then half
		if got := a.add([]float64{4, 2, 7}[i]); got != want {
			t.Errorf("average %d is %v, want %v", i, got, want)
		}
	}
	s := samples{}
	for i := range 11 {
		s.add(pid.Sample{Service: time.Duration(10-i) * time.Second, Inflight: i})
	}
	s.add(pid.Sample{Service: time.Hour, Overload: true})
	if s.quantile(0.5) != 5 || s.quantile(0.9) != 9 || s.maxIn != 10 {
		t.Errorf("median %v, p90 %v, most %d", s.quantile(0.5), s.quantile(0.9), s.maxIn)
	}
}
