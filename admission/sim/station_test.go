package sim

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/race"
)

// pumped is what came of a station by itself.
type pumped struct {
	mean       float64 // seconds from entering to the end of service
	inside     float64 // mean number at the station
	throughput float64 // per second
}

// pump feeds a station at a rate for n requests. With clients it is a closed
// loop instead: each comes back at once.
func pump(spec Station, rate float64, n, clients int) pumped {
	s := newStation(spec, 0, stream{7})
	r := stream{8}
	sum, area, left := 0.0, 0.0, 0
	now, last, inside := time.Duration(0), time.Duration(0), 0
	enter := func() {
		w := r.fork(uint64(r.next()))
		s.enter(now, &attempt{began: now, work: []float64{s.work.draw(&w, &request{})}})
		inside++
	}
	arrival := never
	if clients > 0 {
		for range clients {
			enter()
		}
	} else {
		arrival = 0
	}
	for left < n {
		next := min(s.done, s.change, arrival)
		area += float64(inside) * (next - last).Seconds()
		now, last = next, next
		switch now {
		case s.done:
			a := s.finish()
			inside--
			left++
			sum += (now - a.began).Seconds()
			if clients > 0 {
				enter()
			}
		case s.change:
			s.turn(now)
		default:
			enter()
			arrival += seconds(r.exp() / rate)
		}
	}
	t := now.Seconds()
	return pumped{sum / float64(left), area / t, float64(left) / t}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s: %.5g, want %.5g within %.1f %%", what, got, want, 100*tolerance)
	}
}

// erlangC is the probability that an arrival at a station of k servers with a
// load of a erlangs has to wait.
func erlangC(k int, a float64) float64 {
	b := 1.0 // Erlang B by recursion
	for i := 1; i <= k; i++ {
		b = a * b / (float64(i) + a*b)
	}
	return b / (1 - a/float64(k)*(1-b))
}

func TestOpenQueues(t *testing.T) {
	if race.Enabled {
		return
	}
	const mean = 0.010 // seconds of service
	exp, det := Dist{Kind: "exp", MeanMS: 1000 * mean}, Dist{Kind: "det", MeanMS: 1000 * mean}
	for _, c := range []struct {
		name string
		spec Station
		rate float64
		want float64 // mean seconds at the station
	}{
		{"M/M/1", Station{Servers: 1, Dist: exp}, 70, mean / (1 - 0.7)},
		{"M/D/1", Station{Servers: 1, Dist: det}, 70, mean + 0.7*mean/2/(1-0.7)},
		{"M/M/4", Station{Servers: 4, Dist: exp}, 340, mean + erlangC(4, 3.4)*mean/(4-3.4)},
		{"M/M/50", Station{Servers: 50, Dist: exp}, 4750, mean + erlangC(50, 47.5)*mean/(50-47.5)},
		{"M/M/1-PS", Station{Cores: 1, Dist: exp}, 70, mean / (1 - 0.7)},
		{"M/D/1-PS is as slow", Station{Cores: 1, Dist: det}, 70, mean / (1 - 0.7)},
		{"M/M/4-PS is M/M/4 in the mean", Station{Cores: 4, Dist: exp}, 340, mean + erlangC(4, 3.4)*mean/(4-3.4)},
		{"delay", Station{Dist: exp}, 5000, mean},
	} {
		got := pump(c.spec, c.rate, 400_000, 0)
		near(t, c.name+": time", got.mean, c.want, 0.04)
		near(t, c.name+": throughput", got.throughput, c.rate, 0.01)
		near(t, c.name+": Little's law", got.inside, got.throughput*got.mean, 0.001)
	}
}

// Under a closed load of n the number in service is known, and so is the speed.
func TestSpeeds(t *testing.T) {
	const mean = 0.010
	det := Dist{Kind: "det", MeanMS: 1000 * mean}
	for _, c := range []struct {
		name    string
		spec    Station
		clients int
		want    float64 // per second
	}{
		{"servers", Station{Servers: 8, Dist: det}, 20, 8 / mean},
		{"lock", Station{Servers: 1, Dist: det}, 5, 1 / mean},
		{"cores are not full", Station{Cores: 16, Dist: det}, 10, 10 / mean},
		{"cores are shared", Station{Cores: 16, Dist: det}, 40, 16 / mean},
		{"contention", Station{Cores: 16, Knee: 32, Beta: 0.02, Dist: det}, 82, 16 / mean / 2},
		{"universal scalability", Station{USLAlpha: 0.02, USLBeta: 0.0005, Dist: det}, 40, 40 / mean / (1 + 0.02*39 + 0.0005*40*39)},
		{"half the speed", Station{Servers: 8, Dist: det, Speed: []Point{{0, 0.5}}}, 20, 4 / mean},
		{"half the servers", Station{Servers: 8, Dist: det, ServersFactor: []Point{{0, 0.5}}}, 20, 4 / mean},
		{"pauses", Station{Servers: 8, Dist: det, PauseEveryS: 1, PauseMS: 250}, 20, 8 / mean * 0.75},
		{"pauses of a delay", Station{Dist: det, PauseEveryS: 1, PauseMS: 250}, 20, 20 / mean * 0.75},
	} {
		got := pump(c.spec, 0, 100_000, c.clients)
		near(t, c.name, got.throughput, c.want, 0.02)
	}
}

// A step of speed at second 2 is felt by those in service, from the next look
// at the schedule on; a servers' one lets those in service end.
func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		name string
		spec Station
		want []float64 // when three end that begin at 0
	}{
		{"steady", Station{Servers: 2}, []float64{3, 3, 6}},
		{"slower", Station{Servers: 2, Speed: []Point{{0, 1}, {2, 1}, {2, 0.5}}}, []float64{4, 4, 10}},
		{"stops and goes on", Station{Servers: 2, Speed: []Point{{0, 1}, {2, 1}, {2, 0}, {5, 0}, {5, 1}}}, []float64{6, 6, 9}},
		{"one server less", Station{Servers: 2, ServersFactor: []Point{{2, 0.5}}}, []float64{3, 3, 6}},
		{"shared", Station{Cores: 2}, []float64{4.5, 4.5, 4.5}},
		{"pause", Station{PauseEveryS: 2, PauseMS: 500}, []float64{3.5, 3.5, 3.5}},
	} {
		s := newStation(c.spec, 0, stream{})
		for range 3 {
			s.enter(0, &attempt{work: []float64{3}})
		}
		var got []float64
		for len(got) < 3 {
			if s.done <= s.change {
				got = append(got, s.done.Seconds())
				s.finish()
			} else {
				s.turn(s.change)
			}
		}
		for i, want := range c.want {
			if math.Abs(got[i]-want) > 1e-6 {
				t.Errorf("%s: ends at %v, want %v", c.name, got, c.want)
				break
			}
		}
	}
}

// Who waits may leave; who is in service stays to the end of his visit. What needs no
// server is served beside.
func TestStationLeave(t *testing.T) {
	s := newStation(Station{Servers: 1, Cores: 1, Visits: []float64{1, 3}, Dist: Dist{Kind: "det", MeanMS: 1}}, 0, stream{1})
	var all [3]*attempt
	for i := range all {
		all[i] = &attempt{work: []float64{2}}
		s.enter(0, all[i])
	}
	if s.leave(0, all[0]) || !s.leave(0, all[1]) || s.leave(0, all[1]) {
		t.Error("who waited is still there, or who was served is not")
	}
	s.bear(0, &attempt{work: []float64{0.25}, refusal: true})
	want := []time.Duration{500 * time.Millisecond, 750 * time.Millisecond, 1250 * time.Millisecond} // a quarter of 2 s is his first visit
	for i, w := range want {
		at := s.done
		if a := s.finish(); (at-w).Abs() > time.Microsecond || a.refusal != (i == 0) {
			t.Errorf("end %d at %v, want %v", i, at, w)
		}
	}
	if s.done != never || s.beside != 0 || s.waiting.len != 0 {
		t.Errorf("left: done %v, %d beside, %d wait", s.done, s.beside, s.waiting.len)
	}
}
