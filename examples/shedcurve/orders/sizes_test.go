package orders

import (
	"strings"
	"testing"
	"time"
)

// Twice the work is about half the customers, and absurd wishes end at the bounds.
func TestFit(t *testing.T) {
	fit := func(each time.Duration) int {
		t.Helper()
		s, err := Fit(t.Context(), t.TempDir(), each)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.check(); err != nil || s.Orders != seededOrders {
			t.Errorf("for %v: %+v, %v", each, s, err)
		}
		return s.Customers
	}
	// A request of the trial takes from a tenth of a millisecond to some 200 under the race detector on a slow machine;
	// whatever it is, one of these is between the bounds.
	few, many := fit(time.Second), fit(time.Millisecond)
	t.Logf("%d customers for 1 s, %d for 1 ms", few, many)
	if few >= many {
		t.Errorf("%d customers for 1 s, %d for 1 ms", few, many)
	}
	if n := fit(time.Hour); n != LeastCustomers {
		t.Errorf("for an hour: %d customers, want %d", n, LeastCustomers)
	}
	if n := fit(1); n != MostCustomers {
		t.Errorf("for a nanosecond: %d customers, want %d", n, MostCustomers)
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
