package sim

import (
	"reflect"
	"testing"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/pid"
)

// A law that is brought in takes the place of the config's, and of it alone.
func TestRunLaw(t *testing.T) {
	s := load(t, paths(t, "train")[0])
	pinned := func(n int) admission.Config {
		return admission.Config{Lanes: map[string]admission.LaneConfig{"": {Limit: admission.LimitConfig{Fixed: n}}}}
	}
	law, err := pid.NewLimit(pid.LimitConfig{Fixed: 30})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Lab.RunLaw(pinned(7), s, law)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Lab.Run(pinned(30), s)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) || got.MeanLimit != 30 {
		t.Errorf("mean limit %v, goodput %v, want 30, %v", got.MeanLimit, got.Goodput, want.Goodput)
	}

	off := admission.Config{Mode: admission.Off}
	got, err = Lab.RunLaw(off, s, law)
	if err != nil {
		t.Fatal(err)
	}
	if want, err = Lab.Run(off, s); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("off with a law: goodput %v, without %v, %v", got.Goodput, want.Goodput, err)
	}
}
