package sim

import (
	"math"
	"time"
)

// latencies counts durations in buckets 1.1 % wide, fine enough to compare
// quantiles of runs.
type latencies struct {
	counts [octaves << subBits]uint32
	total  uint64
}

const (
	subBits = 6  // 64 buckets an octave
	octaves = 48 // from a nanosecond
)

// bucket is made of the exponent and the leading bits of the mantissa.
func bucket(d time.Duration) int {
	bits := math.Float64bits(float64(max(d, 1)))
	return min(int(bits>>(52-subBits))-1023<<subBits, octaves<<subBits-1)
}

func (l *latencies) add(d time.Duration) {
	l.counts[bucket(d)]++
	l.total++
}

func (l *latencies) merge(m *latencies) {
	for i, n := range m.counts {
		l.counts[i] += n
	}
	l.total += m.total
}

// quantile is the middle of the bucket that has it; 0 without counts.
func (l *latencies) quantile(q float64) time.Duration {
	want := q * float64(l.total)
	for i, n := range l.counts {
		if want -= float64(n); want < 0 {
			octave, sub := i>>subBits, i&(1<<subBits-1)
			return time.Duration(math.Ldexp(1+(float64(sub)+0.5)/(1<<subBits), octave))
		}
	}
	return 0
}
