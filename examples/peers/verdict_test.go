package main

import (
	"slices"
	"testing"
)

func TestStandings(t *testing.T) {
	names := []string{"a", "b", "c"}
	results := []result{{Goodput: 96, P99: 4}, {Goodput: 100, P99: 8}, {Goodput: 50, P99: 1}}
	got := standings(names, results)
	want := []standing{{0.96, "b", 1, "a"}, {1, "b", 2, "a"}, {0.5, "b", 0.25, "a"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: the lowest p99 is that of those near the best goodput", got, want)
	}
	for i, n := range []int{1, 1, 1} { // too little goodput, too slow, too little goodput
		if m := missed(2, got[i]); len(m) != n {
			t.Errorf("%s misses %q, want %d", names[i], m, n)
		}
	}
	if m := missed(2, standing{share: nearFirst, p99: nearLowest}); m != nil {
		t.Errorf("on the bounds: %q", m)
	}
}
