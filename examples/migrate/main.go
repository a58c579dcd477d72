// Command migrate protects one piece of work by what services often have already, and
// then by Spillway: x/sync's semaphore, x/time's rate limiter, failsafe-go's adaptive
// limiter. The pairs are those of the README; the last one, of Netflix-style limiters,
// is in netflix.go.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/spillway-go/spillway/admission"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// guard runs work, or says why it did not.
type guard func(ctx context.Context, work func(context.Context) error) error

// run has each guard run the same work once.
func run(ctx context.Context) error {
	found, err := admission.New(admission.Config{})
	if err != nil {
		return err
	}
	defer found.Close()
	quota, err := perTenant()
	if err != nil {
		return err
	}
	defer quota.Close()
	bounded, err := bounds()
	if err != nil {
		return err
	}
	defer bounded.Close()

	for _, g := range []struct {
		name string
		guard
	}{
		{"semaphore, before", heldBySemaphore(semaphore.NewWeighted(20))},
		{"semaphore, after", heldByController(found)},
		{"rate, before", heldByRate(rate.NewLimiter(100, 100))},
		{"rate, after", heldByQuota(quota, "acme")},
		{"failsafe, before", heldByFailsafe(adaptivelimiter.NewBuilder[any]().WithLimits(1, 200, 20).Build())},
		{"failsafe, after", heldByTier(bounded)},
		{"netflix, after", heldByTicket(found)},
	} {
		err := g.guard(ctx, func(context.Context) error { time.Sleep(time.Millisecond); return nil })
		fmt.Printf("%s: %v\n", g.name, err)
	}
	return nil
}
