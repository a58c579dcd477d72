package main

import (
	"context"

	"github.com/spillway-go/spillway/admission"
)

// heldByTicket is for who acquired a token and told it how the work came out, as with
// go-concurrency-limits: OnSuccess is Success, OnDropped is Overload, OnIgnore is Ignore.
func heldByTicket(ctrl *admission.Controller) guard {
	return func(ctx context.Context, work func(context.Context) error) error {
		ticket, err := ctrl.Admit(ctx, admission.Request{})
		if err != nil {
			return err
		}
		defer ticket.Release(admission.Failure) // only the first release counts: a panic's
		if err := work(ctx); err != nil {
			ticket.Release(admission.Overload)
			return err
		}
		ticket.Release(admission.Success)
		return nil
	}
}
