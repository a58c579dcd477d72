package sim

import (
	"math"
	"testing"
	"time"
)

func TestPoints(t *testing.T) {
	points := []Point{{1, 2}, {3, 4}, {3, 10}, {5, 20}}
	for _, c := range []struct{ at, linear, stepped float64 }{
		{0, 2, 1}, {1, 2, 2}, {2, 3, 2}, {2.99, 3.99, 2}, {3, 10, 10}, {4, 15, 10}, {5, 20, 20}, {99, 20, 20},
	} {
		if got := linear(points, c.at); math.Abs(got-c.linear) > 1e-9 {
			t.Errorf("linear at %v: %v, want %v", c.at, got, c.linear)
		}
		if got := stepped(points, c.at); got != c.stepped {
			t.Errorf("stepped at %v: %v, want %v", c.at, got, c.stepped)
		}
	}
	if linear(nil, 3) != 1 || stepped(nil, 3) != 1 {
		t.Error("without points the value must be 1")
	}
}

// The arrivals in each second are as many as the rate's integral says.
func TestPoisson(t *testing.T) {
	load := Arrivals{Points: []Point{{1, 1}, {4, 1}, {4, 0}, {6, 0}, {6, 3}, {8, 1}, {9, 1}}}
	want := []float64{1, 1, 1, 1, 0, 0, 2.5, 1.5, 1, 1}
	const capacity = 20_000
	p := newPoisson(load, capacity, 10, stream{4})
	var counts [10]float64
	last := time.Duration(-1)
	for {
		at := p.next()
		if at == never {
			break
		}
		if at < last || at >= 10*time.Second {
			t.Fatalf("arrival at %v after %v", at, last)
		}
		last = at
		counts[int(at/time.Second)]++
	}
	if p.next() != never {
		t.Error("arrivals after the end")
	}
	for i, x := range want {
		if math.Abs(counts[i]-x*capacity) > 4*math.Sqrt(x*capacity) {
			t.Errorf("second %d: %v arrivals, want %v", i, counts[i], x*capacity)
		}
	}
	if none := newPoisson(Arrivals{}, capacity, 10, stream{}); none.next() != never {
		t.Error("arrivals without a rate")
	}
}

// The gaps of a steady process are exponential: their variation is 1.
func TestPoissonGaps(t *testing.T) {
	p := newPoisson(Arrivals{Points: []Point{{0, 1}}}, 1000, 1e6, stream{5})
	const n = 200_000
	sum, square, last := 0.0, 0.0, time.Duration(0)
	for range n {
		at := p.next()
		gap := (at - last).Seconds()
		sum, square, last = sum+gap, square+gap*gap, at
	}
	mean := sum / n
	near(t, "mean gap", mean, 0.001, 0.01)
	near(t, "variation", math.Sqrt(square/n-mean*mean)/mean, 1, 0.01)
}

// The heap gives items back sorted, equal ones in the order they came.
func TestHeap(t *testing.T) {
	var h heap[int64, int]
	r := stream{6}
	for round := range 50 {
		n := 1 + int(r.next()%500)
		for i := range n {
			h.push(int64(r.next()%64), i)
		}
		keys, values := int64(-1), -1
		for range n {
			key := h.top().key
			value := h.pop()
			if key < keys || key == keys && value < values {
				t.Fatalf("round %d: %d/%d after %d/%d", round, key, value, keys, values)
			}
			keys, values = key, value
		}
		if h.len() != 0 {
			t.Fatalf("%d are left", h.len())
		}
	}
}

func TestRing(t *testing.T) {
	var r ring
	random, in, out := stream{9}, 0, 0
	for range 10_000 {
		if random.uniform() < 0.6 || r.len == 0 {
			r.push(&attempt{station: in})
			in++
		} else if a := r.pop(); a.station != out {
			t.Fatalf("popped %d, want %d", a.station, out)
		} else {
			out++
		}
		if r.len != in-out {
			t.Fatalf("length %d, want %d", r.len, in-out)
		}
	}
}
