package orders

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// Sizes of the seeded data. Ids run from 1 to these.
type Sizes struct{ Orders, Customers, Products int }

// Of a load test.
const (
	seededOrders   = 100_000
	seededProducts = 1_600
)

// Bounds of how many customers there are.
const (
	LeastCustomers = 4
	MostCustomers  = 2000
)

// SizesOf is the sizes of a load test whose 100,000 orders are those of so many customers. Nearly all that a request reads
// is one customer's, so half the customers make every request about twice as dear.
func SizesOf(customers int) Sizes { return Sizes{seededOrders, customers, seededProducts} }

// latest is how many orders the report scans, four times: a seventh of what a customer has makes it cost what the others do.
func (s Sizes) latest() int { return max(1, s.Orders/s.Customers/7) }

func (s Sizes) check() error {
	var errs []error
	for _, f := range []struct {
		name        string
		value       int
		least, most int
	}{{"orders", s.Orders, 1, 10 * seededOrders}, {"customers", s.Customers, LeastCustomers, MostCustomers}, {"products", s.Products, 1, seededProducts}} {
		if f.value < f.least || f.value > f.most {
			errs = append(errs, fmt.Errorf("orders: %s is %d, must be %d to %d", f.name, f.value, f.least, f.most))
		}
	}
	return errors.Join(errs...)
}

// A trial has a tenth of the orders and of the customers, so a request costs as much as with all of them.
const (
	trialCustomers = 110 // before the tenth is taken
	trialRuns      = 40  // of each kind of request
)

// Fit returns the sizes with which a request takes about so much of this machine's processor, by a short trial on a small
// database in dir. Machines differ by a factor of four, and a load test of ten times a capacity is another one
// when that is 700 requests a second instead of 200: what refusing costs counts for more.
func Fit(ctx context.Context, dir string, each time.Duration) (Sizes, error) {
	path := filepath.Join(dir, "trial.db")
	defer os.Remove(path)
	trial := Sizes{seededOrders / 10, trialCustomers / 10, seededProducts}
	if err := Create(ctx, path, trial); err != nil {
		return Sizes{}, err
	}
	s, err := Open(ctx, path)
	if err != nil {
		return Sizes{}, err
	}
	defer s.Close()
	took, err := s.trial(ctx, trialRuns)
	if err != nil {
		return Sizes{}, err
	}
	return fitted(took, each), nil
}

// fitted is the sizes with which a request takes each, where it took so long in the trial.
func fitted(took, each time.Duration) Sizes {
	customers := float64(trialCustomers) * float64(took) / float64(each)
	return SizesOf(min(max(int(customers+0.5), LeastCustomers), MostCustomers))
}

// trial is how long a request takes, in the mean over so many runs of the four kinds.
func (s *Store) trial(ctx context.Context, runs int) (time.Duration, error) {
	r := rand.New(rand.NewPCG(1, 1))
	kinds := s.kinds(ctx, r)
	var start time.Time
	for i := range 2 * runs {
		if i == runs { // the first half warms the caches
			start = time.Now()
		}
		for _, ask := range kinds {
			if err := ask(); err != nil {
				return 0, err
			}
		}
	}
	return time.Since(start) / time.Duration(runs*len(kinds)), nil
}

// kinds are the four kinds of request, each of which asks for something else every time.
func (s *Store) kinds(ctx context.Context, r *rand.Rand) map[string]func() error {
	return map[string]func() error{
		"order":   func() error { _, err := s.Order(ctx, 1+r.IntN(s.sizes.Orders)); return err },
		"history": func() error { _, err := s.History(ctx, 1+r.IntN(s.sizes.Customers)); return err },
		"report":  func() error { _, err := s.Top(ctx, s.sizes.latest()); return err },
		"place": func() error {
			d := Draft{Customer: 1 + r.IntN(s.sizes.Customers)}
			for range 5 {
				d.Lines = append(d.Lines, DraftLine{1 + r.IntN(s.sizes.Products), 1})
			}
			_, _, err := s.Place(ctx, d)
			return err
		},
	}
}
