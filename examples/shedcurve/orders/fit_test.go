//go:build !race

package orders

import (
	"os"
	"testing"
	"time"
)

// With a request as long as an hour or as short as a nanosecond every machine has the same sizes. Not under the race
// detector, which makes SQLite forty times slower: a trial takes a minute there.
func TestFit(t *testing.T) {
	dir := t.TempDir()
	for each, want := range map[time.Duration]int{time.Hour: LeastCustomers, 1: MostCustomers} {
		if s, err := Fit(t.Context(), dir, each); err != nil || s != SizesOf(want) {
			t.Errorf("for %v: %+v, %v; want %d customers", each, s, err, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the trials leave %v behind, %v", left, err)
	}
}
