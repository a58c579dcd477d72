package sim

import (
	"testing"

	"github.com/spillway-go/spillway/admission"
)

// In shadow nobody is shed or made to wait, and what would have been shed is counted.
func TestShadowShedsNobody(t *testing.T) {
	s := overloaded()
	for _, cfg := range []admission.Config{
		{Mode: admission.Shadow}, {Lanes: map[string]admission.LaneConfig{"default": {Mode: admission.Shadow}}},
	} {
		r, err := Run(cfg, s)
		if err != nil {
			t.Fatal(err)
		}
		would := uint64(0)
		for why := range r.Shed {
			if r.Shed[why] != 0 {
				t.Errorf("%d shed: %v", r.Shed[why], admission.Reason(why))
			}
			would += r.Shadow[why]
		}
		if r.Attempts != r.Good+r.Late || r.Left != 0 || would == 0 {
			t.Errorf("%d attempts, %d good, %d late, %d left, %d would have been shed", r.Attempts, r.Good, r.Late, r.Left, would)
		}
	}
}
