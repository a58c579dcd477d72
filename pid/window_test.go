package pid

import (
	"math"
	"testing"
)

func TestLn(t *testing.T) {
	worst := 0.0
	for x := 1e-9; x < 1e19; x *= 1.00037 {
		worst = max(worst, math.Abs(ln(x)-math.Log(x)))
	}
	for i := range 5000 {
		x := float64(i + 1)
		worst = max(worst, math.Abs(ln(x)-math.Log(x)))
	}
	if !(worst < 1e-7) {
		t.Errorf("ln is off by %v, want at most 1e-7", worst)
	}
	if ln(1) != 0 {
		t.Errorf("ln(1) = %v", ln(1))
	}
}
