package core

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestHistogramBuckets(t *testing.T) {
	lower := time.Duration(0)
	for i := range HistogramBuckets {
		upper := bucketBound(i)
		if upper <= lower {
			t.Fatalf("bucket %d ends at %v, where it begins", i, upper)
		}
		if i >= 4 && float64(upper)/float64(lower) > 1.2501 {
			t.Errorf("bucket %d is from %v to %v, wider than a quarter", i, lower, upper)
		}
		for _, d := range []time.Duration{lower, (lower + upper) / 2, upper - 1} {
			if got := bucketOf(d); got != i {
				t.Errorf("%v falls in bucket %d, want %d: %v to %v", d, got, i, lower, upper)
			}
		}
		lower = upper
	}
	if got := bucketOf(math.MaxInt64); got != HistogramBuckets-1 {
		t.Errorf("the longest duration falls in bucket %d", got)
	}
	if lower < time.Hour || lower > 3*time.Hour {
		t.Errorf("the buckets end at %v, want an hour or some", lower)
	}
	var h Histogram
	h.Add(-time.Second)
	h.Add(math.MinInt64)
	if h.Counts[0] != 2 || h.Sum != 0 {
		t.Errorf("negative durations count as %d with a sum of %v, want 2 and 0", h.Counts[0], h.Sum)
	}
}

func TestHistogramQuantile(t *testing.T) {
	const seed = 5
	r := rand.New(rand.NewPCG(seed, seed))
	for range 300 {
		var h Histogram
		all := make([]time.Duration, 1+r.IntN(1000))
		sum, scale := time.Duration(0), math.Exp(9*r.Float64())*1e4 // 10 us to 81 ms
		for i := range all {
			all[i] = min(time.Duration(scale*r.ExpFloat64()), time.Hour)
			sum += all[i]
			h.Add(all[i])
		}
		slices.Sort(all)
		if h.Total() != uint64(len(all)) || h.Sum != sum {
			t.Fatalf("total %d, sum %v, want %d and %v", h.Total(), h.Sum, len(all), sum)
		}
		for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99} {
			got, want := h.Quantile(q), all[int(q*float64(len(all)))]
			if off := (got - want).Abs(); off > time.Microsecond/2 && float64(off) > 0.126*float64(want) {
				t.Fatalf("quantile %v of %d is %v, want %v within 13%%", q, len(all), got, want)
			}
		}
		if got, want := h.Quantile(1), all[len(all)-1]; math.Abs(float64(got-want)) > 0.126*float64(want)+500 {
			t.Fatalf("quantile 1 is %v, want the longest, %v", got, want)
		}
	}
	var h Histogram
	if got := h.Quantile(0.5); got != 0 {
		t.Errorf("quantile of nothing is %v", got)
	}
}

// A recent view forgets what was long ago, and needs some counts to speak.
func TestRecentQuantile(t *testing.T) {
	var h Histogram
	var lately recent
	for range 7 {
		h.Add(100 * ms)
	}
	if lately.look(&h, 1); lately.quantile(0.5) != 0 {
		t.Errorf("seven counts make a median of %v", lately.quantile(0.5))
	}
	for range 1000 {
		h.Add(100 * ms)
	}
	lately.look(&h, 1)
	if got := lately.quantile(0.5); got < 88*ms || got > 113*ms {
		t.Errorf("median is %v, want 100ms", got)
	}
	for range 50 { // 50 x 10 new ones, 10 ms each, the old halved each time
		for range 10 {
			h.Add(10 * ms)
		}
		lately.look(&h, 0.5)
	}
	if got := lately.quantile(0.99); got > 12*ms {
		t.Errorf("after they were halved 50 times the old ones make a p99 of %v", got)
	}
	if got := h.Quantile(0.9); got < 88*ms {
		t.Errorf("the histogram itself forgot: p90 is %v", got)
	}
}
