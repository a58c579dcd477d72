package regulators

import (
	"errors"
	"math"
	"strings"
	"testing"
)

const stall = "some avg10=%s avg60=99.00 avg300=99.00 total=12\nfull avg10=98.00 avg60=0.00 avg300=0.00 total=0\n"

func TestPSI(t *testing.T) {
	at := func(percent string) string { return strings.ReplaceAll(stall, "%s", percent) }
	for name, tc := range map[string]struct {
		files map[string]string
		want  float64
	}{
		"own group":            {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/io.pressure": at("12.50"), "sys/fs/cgroup/a/io.pressure": at("50.00"), "proc/pressure/io": at("80.00")}, 0.125},
		"the group above":      {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/io.pressure": at("50.00"), "proc/pressure/io": at("80.00")}, 0.5},
		"the host":             {map[string]string{"proc/self/cgroup": "0::/a/b\n", "proc/pressure/io": at("80.00")}, 0.8},
		"no cgroups":           {map[string]string{"proc/pressure/io": at("0.00"), "proc/pressure/cpu": at("80.00")}, 0},
		"a host with v1 alone": {map[string]string{"proc/self/cgroup": "3:io:/a\n", "proc/pressure/io": at("100.00")}, 1},
	} {
		root := tree(tc.files)
		s, err := newPSI(root, "io", 0.25)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := s.Pressure(t.Context()); err != nil || math.Abs(got-tc.want/0.25) > 1e-9 {
			t.Errorf("%s: %v, %v, want %v", name, got, err, tc.want/0.25)
		}
		clear(root)
		if got, err := s.Pressure(t.Context()); err == nil || got != 0 {
			t.Errorf("%s, gone: %v, %v, want an error", name, got, err)
		}
	}
}

func TestPSIErrors(t *testing.T) {
	s, err := newPSI(tree(nil), "disk", 2)
	for _, want := range []string{`resource of PSI is "disk", must be cpu, memory or io`, "target of PSI is 2, must be above 0 and at most 1"} {
		if s != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", s, err, want)
		}
	}
	if _, err := newPSI(tree(nil), "io", math.NaN()); err == nil || !strings.Contains(err.Error(), "target of PSI is NaN") {
		t.Errorf("target NaN: %v", err)
	}
	for name, text := range map[string]string{
		"empty":       "",
		"full alone":  "full avg10=1.00 avg60=0.00 avg300=0.00 total=0\n",
		"nonsense":    "some avg10=lots\n",
		"not finite":  "some avg10=NaN avg60=0.00\n",
		"below zero":  "some avg10=-1.00 avg60=0.00\n",
		"other order": "some avg60=1.00 avg10=1.00\n",
	} {
		if s, err := newPSI(tree(map[string]string{"proc/pressure/cpu": text}), "cpu", 0.5); s != nil || !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "PSI is not available here") {
			t.Errorf("%s: %v, %v, want errors.ErrUnsupported", name, s, err)
		}
	}
}
