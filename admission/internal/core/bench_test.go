package core

import (
	"testing"
	"time"
)

// warmLane is a tuned lane with traffic in all tiers behind it; it runs at
// twice what it can do if pressed, so that the gate sheds.
func warmLane(t testing.TB, pressed bool) *sim {
	cfg := Config{Deadline: time.Second}
	cfg.Limit.Max = 50
	s := newSim(t, cfg, 10)
	rate := 250.0
	if pressed {
		rate = 1500
	}
	s.run(5*time.Second, rate)
	return s
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	for _, pressed := range []bool{false, true} {
		s := warmLane(t, pressed)
		l, now := s.lane, s.now
		if got := l.ShedRatio() > 0; got != pressed {
			t.Fatalf("sheds %v, pressed %v", l.ShedRatio(), pressed)
		}
		calls := make([]Call, 200) // more than slots and places in the queue
		for i := range calls {
			calls[i] = Call{Cost: 1, Rank: i % NumRanks, Deadline: now + time.Hour}
		}
		var v View
		for name, do := range map[string]func(){
			"Offer": func() { l.Offer(NumRanks-1, 1<<31, false); l.Offer(0, 1, false) },
			"Arrive, Release": func() {
				now += time.Microsecond
				for i := range calls { // some run, some wait, some are refused or evicted
					l.Arrive(now, &calls[i], 0.5, true)
				}
				l.Settled()
				for i := range calls {
					if calls[i].State == Running {
						l.Release(now, &calls[i], Success)
					}
				}
				for i := range calls {
					switch calls[i].State {
					case Running:
						l.Release(now, &calls[i], Overload)
					case Waiting:
						l.Leave(now, &calls[i])
					}
				}
				l.Settled()
			},
			"Tick":   func() { now += TickPeriod; l.Tick(now, 0.5); l.Settled() },
			"Expire": func() { now += ms; l.Expire(now); l.NextExpiry() },
			"View":   func() { l.View(now, &v) },
		} {
			if n := testing.AllocsPerRun(50, do); n != 0 {
				t.Errorf("%s: %v allocations, pressed %v", name, n, pressed)
			}
		}
	}
}

func BenchmarkOfferOpen(b *testing.B) {
	l := warmLane(b, false).lane
	b.ReportAllocs()
	for b.Loop() {
		l.Offer(300, 1<<30, false)
	}
}

func BenchmarkOfferShed(b *testing.B) {
	l := warmLane(b, true).lane
	b.ReportAllocs()
	for b.Loop() {
		if !l.Offer(NumRanks-1, 1<<30, false) {
			b.Fatal("not shed")
		}
	}
}

func BenchmarkArriveRelease(b *testing.B) {
	s := warmLane(b, false)
	now, c := s.now, Call{Cost: 1, Rank: 300, Deadline: time.Hour}
	b.ReportAllocs()
	for b.Loop() {
		s.lane.Arrive(now, &c, 0.5, true)
		now += time.Microsecond
		s.lane.Release(now, &c, Success)
	}
}

func BenchmarkArriveWaitRelease(b *testing.B) {
	l := newLane(b, pinned(1))
	var calls [2]Call
	for i := range calls {
		calls[i] = Call{Cost: 1, Rank: 300, Deadline: 1 << 60}
	}
	now := time.Duration(0)
	l.Arrive(now, &calls[0], 0.5, true)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l.Arrive(now, &calls[(i+1)%2], 0.5, true) // waits
		now += time.Microsecond
		l.Release(now, &calls[i%2], Success) // hands over
		l.Settled()
	}
}

func BenchmarkTick(b *testing.B) {
	s := warmLane(b, true)
	now := s.now
	b.ReportAllocs()
	for b.Loop() {
		now += TickPeriod
		s.lane.Tick(now, 0.5)
		s.lane.Settled()
	}
}
