package promadmission

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/internal/facts"
)

const (
	// schema 2 has four native buckets an octave, as the controller's own
	// histogram has: a finer one would promise what was not measured.
	schema = 2

	// octaves of microseconds whose bounds are classic buckets, 128 µs to 17 s.
	firstOctave, lastOctave = 7, 24
)

// zeroThreshold is the largest duration that the native zero bucket holds, a
// bound of the schema: the controller's first bucket is below a microsecond.
var zeroThreshold = math.Ldexp(1, -20)

// share is where a bucket's counts go: to a native bucket, from what those before
// have left.
type share struct {
	native int
	of     float64
}

// shares has them for each of the controller's buckets, but for the first. Those
// are spaced evenly within an octave of microseconds and native ones
// geometrically within one of seconds, so a bucket overlaps two or three; its
// counts are taken for evenly spread, as any reader of a histogram does.
var shares = func() (table [len(admission.Histogram{}.Counts)][]share) {
	var h admission.Histogram
	for i := 1; i < len(table); i++ {
		lower, upper := h.Bound(i-1).Seconds(), h.Bound(i).Seconds()
		for lower < upper {
			native := int(math.Floor(math.Log2(lower)*(1<<schema)+1e-9)) + 1
			to := min(math.Exp2(float64(native)/(1<<schema)), upper)
			table[i] = append(table[i], share{native, (to - lower) / (upper - lower)})
			lower = to
			if upper-lower < 1e-9*upper {
				break
			}
		}
		table[i][len(table[i])-1].of = 1
	}
	return table
}()

// native spreads the counts. What goes to each bucket only grows when the counts
// do, which rounding of each share by itself would not ensure.
func native(h *admission.Histogram) (buckets map[int]int64, zero uint64) {
	buckets = make(map[int]int64)
	for i, left := range h.Counts {
		if i == 0 {
			zero = left
			continue
		}
		for _, s := range shares[i] {
			n := left
			if s.of < 1 {
				n = uint64(float64(left) * s.of)
			}
			if n > 0 {
				buckets[s.native] += int64(n)
			}
			left -= n
		}
	}
	return buckets, zero
}

// classic has the cumulative counts at octaves, which are exact, but that the
// controller's bounds are exclusive and it counts whole microseconds.
func classic(h *admission.Histogram) map[float64]uint64 {
	buckets := make(map[float64]uint64, lastOctave-firstOctave+1)
	n, next := uint64(0), firstOctave*4-5 // the index of the octave's last bucket
	for i, c := range h.Counts {
		n += c
		if i == next && i <= lastOctave*4-5 {
			buckets[h.Bound(i).Seconds()] = n
			next += 4
		}
	}
	return buckets
}

// newHistogram makes one of both, so that servers of every age can read it.
func newHistogram(desc *prometheus.Desc, h *admission.Histogram, lane string) histogram {
	buckets, zero := native(h)
	count, sum, lane := h.Total(), h.Sum.Seconds(), facts.Valid(lane)
	return histogram{
		native:  prometheus.MustNewConstNativeHistogram(desc, count, sum, buckets, nil, zero, schema, zeroThreshold, time.Time{}, lane),
		classic: prometheus.MustNewConstHistogram(desc, count, sum, classic(h), lane),
	}
}

// histogram is one metric of both kinds.
type histogram struct{ native, classic prometheus.Metric }

// Desc describes it.
func (h histogram) Desc() *prometheus.Desc { return h.native.Desc() }

// Write puts the classic buckets beside the native ones. When counting began is
// not told: a time that is not known would be worse than none.
func (h histogram) Write(out *dto.Metric) error {
	var plain dto.Metric
	if err := h.classic.Write(&plain); err != nil {
		return err
	}
	if err := h.native.Write(out); err != nil {
		return err
	}
	out.Histogram.Bucket, out.Histogram.CreatedTimestamp = plain.Histogram.Bucket, nil
	return nil
}
