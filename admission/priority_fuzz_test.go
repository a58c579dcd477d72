package admission

import "testing"

// FuzzPriority: what is read as a priority is written as it was read, but for zeroes in
// front of the cohort, and is none that only code can give.
func FuzzPriority(f *testing.F) {
	for _, s := range []string{"", "t0", "t5/127", "t1/037", "t6", "t1/128", "t1/", "exempt", "T1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePriority(s)
		if err != nil {
			if p != 0 {
				t.Fatalf("%q: both %v and %v", s, p, err)
			}
			return
		}
		again, err := ParsePriority(p.String())
		if err != nil || again != p || p == Exempt || p == 0 || p.rank() < 0 || p.rank() >= NumTiers*NumCohorts {
			t.Fatalf("%q is %v, read again %v, %v", s, p, again, err)
		}
		if text := p.String(); len(text) > len(s) || text[:2] != s[:2] || p.hasCohort() != (len(s) > 2) {
			t.Fatalf("%q is written %q", s, text)
		}
	})
}
