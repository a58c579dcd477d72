package core

import (
	"math/bits"
	"time"
)

// Histogram counts durations in buckets a quarter of an octave wide or less,
// from a microsecond to about two hours: a quantile read from it is at most 13 %
// off, or half a microsecond. A count costs few instructions and an increment.
type Histogram struct {
	Counts [HistogramBuckets]uint64
	Sum    time.Duration
}

// HistogramBuckets is how many there are: four an octave.
const HistogramBuckets = 128

// Add counts a duration; a negative one counts as zero.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	h.Counts[bucketOf(d)]++
	h.Sum += d
}

// bucketOf: microseconds below four have a bucket each, above that the two
// bits after the leading one choose among four an octave.
func bucketOf(d time.Duration) int {
	us := uint64(d) / 1000
	if us < 4 {
		return int(us)
	}
	e := bits.Len64(us) // at least 3
	return min((e-2)<<2|int(us>>(e-3))&3, HistogramBuckets-1)
}

// Bound is the upper bound of bucket i, exclusive; the last bucket has none in
// truth and counts whatever is above the one before. It is the same for every
// Histogram, and a power of two of microseconds wherever i+1 is a multiple of
// four.
func (*Histogram) Bound(i int) time.Duration { return bucketBound(i) }

func bucketBound(i int) time.Duration {
	if i < 4 {
		return time.Duration(i+1) * time.Microsecond
	}
	e := i>>2 + 2
	return time.Duration(uint64(i&3+5)<<(e-3)) * time.Microsecond
}

// Total is how many were counted.
func (h *Histogram) Total() uint64 {
	n := uint64(0)
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Quantile is the duration below which the share q lies, the middle of its
// bucket; 0 without counts.
func (h *Histogram) Quantile(q float64) time.Duration {
	n := h.Total()
	if n == 0 {
		return 0
	}
	var weights [HistogramBuckets]float64
	for i, c := range h.Counts {
		weights[i] = float64(c)
	}
	return quantile(&weights, q*float64(n))
}

func quantile(weights *[HistogramBuckets]float64, want float64) time.Duration {
	last := 0
	for i, w := range weights {
		if w > 0 {
			last = i
			if want < w {
				break
			}
			want -= w
		}
	}
	lower := time.Duration(0)
	if last > 0 {
		lower = bucketBound(last - 1)
	}
	return (lower + bucketBound(last)) / 2
}

// recent is a time-decayed view of a Histogram: it takes in what was counted
// since it last looked, so the request's way pays for one counter only.
type recent struct {
	weights [HistogramBuckets]float64
	seen    [HistogramBuckets]uint64
	total   float64
}

// look takes in the new counts and scales the old ones by keep.
func (r *recent) look(h *Histogram, keep float64) {
	r.total = 0
	for i, c := range h.Counts {
		r.weights[i] = r.weights[i]*keep + float64(c-r.seen[i])
		r.seen[i] = c
		r.total += r.weights[i]
	}
}

// quantile is 0 until there are enough counts to speak of one.
func (r *recent) quantile(q float64) time.Duration {
	const enough = 8
	if r.total < enough {
		return 0
	}
	return quantile(&r.weights, q*r.total)
}
