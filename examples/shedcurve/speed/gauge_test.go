package speed

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/orders"
)

func TestGauge(t *testing.T) {
	db := filepath.Join(t.TempDir(), "orders.db")
	if err := orders.Create(t.Context(), db, orders.Sizes{Orders: 2_000, Customers: 110, Products: 1_600}); err != nil {
		t.Fatal(err)
	}
	store, err := orders.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	begun := time.Now()
	g, err := New(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	if r := g.All(); len(r) == 0 || r[0].Took <= 0 || r[0].At.Before(begun) || r[0].At.After(time.Now()) {
		t.Errorf("readings of a gauge just begun: %v", r)
	}
	for len(g.All()) < 3 {
		time.Sleep(time.Millisecond) // the statement is real work: there is no virtual time for it
	}
	g.Stop()
	last := g.All()[len(g.All())-1]
	g.Reset()
	if r := g.All(); len(r) != 1 || r[0] != last {
		t.Errorf("after a reset: %v, want the last reading %v", r, last)
	}
	g.mu.readings = slices.Repeat(g.mu.readings, maxReadings) // the goroutine has ended
	if err := g.read(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if n := len(g.All()); n != maxReadings/2+1 {
		t.Errorf("%d readings are kept when the most is reached, want the newer half and one more", n)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), store); err == nil {
		t.Error("a gauge on a closed store: no error")
	}
}
