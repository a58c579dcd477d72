package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"
)

// TestFindingsAreTold measures two peers at two loads, and looks for them in the text and in the picture.
func TestFindingsAreTold(t *testing.T) {
	peers := []peer{all[0], all[len(all)-1]}
	f := findings{plan: plan{
		xs: []float64{handAt, tiersAt, stepTo}, limits: []int{16, 24},
		warmUp: 2 * time.Second, count: time.Second, tiers: time.Second, sweep: time.Second,
		before: time.Second, after: time.Second,
	}}
	if err := f.measure(t.Context(), peers, 1, io.Discard); err != nil {
		t.Fatal(err)
	}
	text := f.text(peers)
	for name, times := range map[string]int{
		"\n| oracle |":   2 * len(shapes),                 // goodput and p99
		"\n| none |":     3*len(shapes) + 1,               // and the comparison, and the step; it knows neither tiers nor tenants
		"\n| spillway |": 3*len(shapes) + 2 + len(shapes), // and the tenants, and its tiers before each back end
		"\nspillway, ":   len(shapes),                     // the verdicts
	} {
		if got := strings.Count(text, name); got != times {
			t.Errorf("%q is in the text %d times, want %d\n%s", name, got, times, text)
		}
	}
	svg, err := f.picture(peers)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(svg, new(struct{})); err != nil || !bytes.Contains(svg, []byte(">spillway<")) {
		t.Errorf("the picture of %d bytes is no SVG that names spillway: %v", len(svg), err)
	}
}

func TestSettled(t *testing.T) {
	full := result{Slices: []int{0, 10, 50, 100, 100, 100, 100, 100, 100, 100, 100, 100}}
	dip := result{Slices: []int{100, 100, 100, 100, 100, 100, 100, 100, 100, 0, 0, 0}}
	for _, c := range []struct {
		r    result
		want time.Duration
		ok   bool
	}{
		{full, 5 * slice, true}, // 50+100+100+100 is the first second to reach 85 % of 400
		{dip, 0, false},
		{result{}, 0, false},
	} {
		if got, ok := settled(c.r, 400); got != c.want || ok != c.ok {
			t.Errorf("%v: settled after %v, %v, want %v, %v", c.r.Slices, got, ok, c.want, c.ok)
		}
	}
}
