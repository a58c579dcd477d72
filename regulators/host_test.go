//go:build linux

package regulators_test

import (
	"errors"
	"testing"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// On the machine at hand: one busy goroutine makes the processors at least a
// little busy, and whatever is read is a pressure.
func TestCPUHere(t *testing.T) {
	s, err := regulators.CPU(0.5)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); time.Since(start) < 300*time.Millisecond; {
	}
	if got, err := s.Pressure(t.Context()); err != nil || got <= 0 || got > 2.5 {
		t.Errorf("%v, %v, want above 0 and about 2 at most", got, err)
	}
}

func TestPSIHere(t *testing.T) {
	for _, resource := range []string{"cpu", "memory", "io"} {
		s, err := regulators.PSI(resource, 0.5)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Pressure(t.Context()); err != nil || got < 0 || got > 2 {
			t.Errorf("%s: %v, %v", resource, got, err)
		}
	}
}

func BenchmarkCPU(b *testing.B) {
	s, err := regulators.CPU(0.9)
	if err != nil {
		b.Skip(err)
	}
	benchmarkPoll(b, s)
}

func BenchmarkPSI(b *testing.B) {
	s, err := regulators.PSI("cpu", 0.9)
	if err != nil {
		b.Skip(err)
	}
	benchmarkPoll(b, s)
}
