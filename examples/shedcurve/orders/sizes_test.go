package orders

import (
	"strings"
	"testing"
	"time"
)

// Half the time for each is about twice the customers, and absurd wishes end at the bounds.
func TestFitted(t *testing.T) {
	const took = 8 * time.Millisecond
	for each, want := range map[time.Duration]int{
		took: trialCustomers, took / 2: 2 * trialCustomers, 2 * took: trialCustomers / 2, time.Hour: LeastCustomers, 1: MostCustomers,
	} {
		s := fitted(took, each)
		if err := s.check(); err != nil || s != SizesOf(want) {
			t.Errorf("for %v: %+v, %v; want %d customers", each, s, err, want)
		}
	}
}

// The trial says how long a request takes and leaves nothing behind that Reset does not take away.
func TestTrial(t *testing.T) {
	start := time.Now()
	took, err := store.trial(t.Context(), 2)
	if whole := time.Since(start); err != nil || took <= 0 || took > whole/(2*4) {
		t.Errorf("%v, %v; want at most an eighth of %v, which two runs of four kinds and their warm-up took", took, err, whole)
	}
	if err := store.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestCreateErrors(t *testing.T) {
	err := Create(t.Context(), t.TempDir()+"/x.db", Sizes{Orders: 0, Customers: 1, Products: -1})
	for _, want := range []string{"orders is 0", "customers is 1", "products is -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}
