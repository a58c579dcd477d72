package promadmission

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/internal/facts"
)

// written is what a scrape gets of h.
func written(t *testing.T, h *admission.Histogram) *dto.Histogram {
	t.Helper()
	var m dto.Metric
	if err := newHistogram(describe("test")[facts.Wait], h, "default").Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.Histogram
}

// nativeCounts are the native buckets by index.
func nativeCounts(h *dto.Histogram) map[int]int64 {
	counts := map[int]int64{}
	i, count, next := 0, int64(0), 0
	for _, s := range h.PositiveSpan {
		i += int(s.GetOffset())
		for range s.GetLength() {
			count += h.PositiveDelta[next]
			counts[i] = count
			next++
			i++
		}
	}
	return counts
}

// Every count is in one native bucket at most one beside that of its duration, in
// every classic one above it, and in the sum; no bucket ever falls.
func TestHistogram(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var h admission.Histogram
	before := map[int]int64{}
	for n := uint64(1); n <= 3000; n++ {
		d := time.Duration(math.Exp(random.Float64() * math.Log(float64(time.Hour))))
		h.Add(d)
		got := written(t, &h)
		if got.GetSampleCount() != n || math.Abs(got.GetSampleSum()-h.Sum.Seconds()) > 1e-9 || got.GetCreatedTimestamp() != nil {
			t.Fatalf("%d durations: count %d, sum %v, created %v", n, got.GetSampleCount(), got.GetSampleSum(), got.GetCreatedTimestamp())
		}
		after, total := nativeCounts(got), int64(got.GetZeroCount())
		place := int(math.Ceil(math.Log2(d.Seconds()) * 4))
		for i, c := range after {
			total += c
			if c < before[i] {
				t.Fatalf("native bucket %d fell from %d to %d", i, before[i], c)
			}
			if n == 1 && c == 1 && (i < place-1 || i > place+1) {
				t.Errorf("%v is in native bucket %d, not %d", d, i, place)
			}
		}
		if total != int64(n) {
			t.Fatalf("%d durations: the native buckets have %d", n, total)
		}
		before = after
	}
	got := written(t, &h)
	if len(got.Bucket) != 18 || got.Bucket[0].GetUpperBound() != 128e-6 {
		t.Fatalf("%d classic buckets from %v", len(got.Bucket), got.Bucket[0].GetUpperBound())
	}
	for _, b := range got.Bucket {
		want := uint64(0)
		for i, c := range h.Counts {
			if h.Bound(i).Seconds() <= b.GetUpperBound() {
				want += c
			}
		}
		if b.GetCumulativeCount() != want {
			t.Errorf("up to %v: %d, want %d", b.GetUpperBound(), b.GetCumulativeCount(), want)
		}
	}
}

// A quantile read from the native buckets is that of the durations, within the
// width of a bucket and what the controller's own leave open.
func TestNativeQuantiles(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var h admission.Histogram
	for range 100_000 {
		h.Add(time.Duration(random.ExpFloat64() * float64(20*time.Millisecond)))
	}
	got := written(t, &h)
	counts := nativeCounts(got)
	for _, q := range []float64{0.1, 0.5, 0.9, 0.99} {
		want := -math.Log(1-q) * 0.020
		rank, read := q*float64(got.GetSampleCount())-float64(got.GetZeroCount()), 0.0
		for i := -100; i < 100; i++ {
			if c := float64(counts[i]); rank <= c {
				read = math.Exp2((float64(i-1) + rank/c) / 4)
				break
			} else {
				rank -= c
			}
		}
		if math.Abs(read/want-1) > 0.06 {
			t.Errorf("quantile %v is %v, want %v", q, read, want)
		}
	}
}
