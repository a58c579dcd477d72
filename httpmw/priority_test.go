package httpmw

import (
	"strings"
	"testing"
)

func TestUrgency(t *testing.T) {
	const none = -1
	for _, c := range []struct {
		lines []string
		want  int
	}{
		{nil, none},
		{[]string{""}, none},
		{[]string{"u=0"}, 0},
		{[]string{"u=7"}, 7},
		{[]string{"u=1, i"}, 1},
		{[]string{"i, u=1"}, 1},
		{[]string{"i", "u=2"}, 2}, // lines of one list
		{[]string{" i ,\tu=4\t"}, 4},
		{[]string{"u=5;foo=bar"}, 5},
		{[]string{"u=5;foo"}, 5},
		{[]string{`x="a,u=1", u=2`}, 2},
		{[]string{`x="\",u=1", u=2`}, 2},
		{[]string{`x=("a" "b");q="u=1,", u=6`}, 6},
		{[]string{"u=1, u=2"}, 2}, // the last counts
		{[]string{"u=1", "u=2"}, 2},
		{[]string{"u=1, u=9"}, none}, // and is ignored when out of range

		{[]string{"u=8"}, none},
		{[]string{"u=-1"}, none},
		{[]string{"u=01"}, none},
		{[]string{"u=1.0"}, none},
		{[]string{`u="1"`}, none},
		{[]string{"u"}, none},
		{[]string{"u;x=1"}, none},
		{[]string{"u =1"}, none},
		{[]string{"u= 1"}, none},
		{[]string{"U=1"}, none},
		{[]string{"uu=1"}, none},
		{[]string{`x="u=1`}, none}, // never closed
		{[]string{`x="\`}, none},
	} {
		got, ok := urgency(c.lines)
		if !ok {
			got = none
		}
		if got != c.want {
			t.Errorf("%q: u is %d, want %d", c.lines, got, c.want)
		}
	}
}

// FuzzUrgency holds the parser against a naive one where there are no quotes,
// and to its range everywhere.
func FuzzUrgency(f *testing.F) {
	for _, s := range []string{"u=1, i", "u=1,u=2;x", `x="a,u=1", u=2`, "u;x=1", `"\`, ",,,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, ok := urgency([]string{s})
		if u < 0 || u > 9 || ok && u > 7 {
			t.Fatalf("%q: u is %d, %v", s, u, ok)
		}
		if strings.ContainsAny(s, `"\`) {
			return
		}
		want, wantOK := 0, false
		for _, m := range strings.Split(s, ",") {
			m, _, _ = strings.Cut(strings.Trim(m, " \t"), ";")
			if m != "u" && !strings.HasPrefix(m, "u=") {
				continue
			}
			v := strings.TrimRight(strings.TrimPrefix(m, "u="), " \t")
			wantOK = len(v) == 1 && strings.Contains("01234567", v)
			if wantOK {
				want = int(v[0] - '0')
			}
		}
		if ok != wantOK || ok && u != want {
			t.Fatalf("%q: u is %d, %v, want %d, %v", s, u, ok, want, wantOK)
		}
	})
}
