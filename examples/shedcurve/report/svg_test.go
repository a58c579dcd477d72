package report

import (
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// texts reads the picture as XML and returns what is written in it.
func texts(t *testing.T, svg string) []string {
	t.Helper()
	var out []string
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		if c, ok := tok.(xml.CharData); ok && strings.TrimSpace(string(c)) != "" {
			out = append(out, string(c))
		}
	}
}

func TestSVG(t *testing.T) {
	r := made()
	got := texts(t, written(t, r.WriteSVG))
	for _, want := range []string{
		r.headline(), "ideal", "with Spillway", "without Spillway", "deadline", "t1", "t2", "t5",
		"Success by tier, with Spillway", "0.5", "10", "100%",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in the picture: %q", want, got)
		}
	}
	if s := written(t, r.WriteSVG); strings.Contains(s, "pt\"") || strings.Contains(s, "href=") {
		t.Error("sized in points, or refers to something outside")
	}
}

// Every report that is valid can be drawn and read back, however little is in it.
func TestSVGOfLittle(t *testing.T) {
	one := made()
	one.Arms = one.Arms[:1]
	unknown := made()
	unknown.CapacityRPS, unknown.DeadlineMS = 0, 0
	foreign := Report{CapacityRPS: 10, Arms: []Arm{{Name: "<b>&\"\x00", Points: []Point{{X: 1, GoodputRPS: 12}}}}}
	for name, r := range map[string]Report{
		"empty": {}, "one arm": one, "no points": {Arms: []Arm{{Name: ArmOn}}},
		"some figures missing": small(), "no capacity": unknown, "foreign": foreign,
	} {
		got := texts(t, written(t, r.WriteSVG))
		if name == "foreign" && !slices.Contains(got, `<b>&"?`) {
			t.Errorf("the arm's name is not in the picture: %q", got)
		}
	}
}

func TestHollowPoints(t *testing.T) {
	r := made()
	whole := strings.Count(written(t, r.WriteSVG), "fill:#FFFFFF")
	r.Arms[1].Points[3].Valid = false
	hollow := strings.Count(written(t, r.WriteSVG), "fill:#FFFFFF")
	if hollow-whole != 1+1+3 { // goodput, p99 and three tiers
		t.Errorf("%d points are hollow, want 5", hollow-whole)
	}
}

func TestSpread(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		h := make([]vg.Length, rnd.IntN(8))
		for i := range h {
			h[i] = vg.Length(rnd.Float64() * 100)
		}
		slices.Sort(h)
		apart := true
		for i := 1; i < len(h); i++ {
			apart = apart && h[i]-h[i-1] >= 10
		}
		before := slices.Clone(h)
		spread(h, 0, 100, 10)
		if apart && !slices.Equal(h, before) {
			t.Fatalf("moved without need: %v to %v", before, h)
		}
		for i := range h {
			if h[i] < -1e-9 || h[i] > 100 || (i > 0 && h[i]-h[i-1] < 10-1e-9) {
				t.Fatalf("%v became %v", before, h)
			}
		}
	}
}

func TestTicks(t *testing.T) {
	labels := func(loads ...float64) string {
		var out []string
		for _, t := range (panel{Loads: loads}).loadTicks() {
			out = append(out, t.Label)
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ got, want string }{
		{labels(0.5, 0.8, 1, 1.5, 2, 3, 5, 10), "0.5 0.8 1 1.5 2 3 5 10"},
		{labels(0.1, 0.95, 1, 1.05, 10), "0.1  1  10"}, // 1 goes before its neighbours
		{labels(0.125), "0.125"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		from := 0.01 + 1000*rnd.Float64()
		ticks := logTicks(from, from*(2.5+1e4*rnd.Float64()))
		if len(ticks) == 0 || len(ticks) > 7 {
			t.Fatalf("from %v: %d ticks", from, len(ticks))
		}
	}
}
