package oteladmission_test

import (
	"context"
	"fmt"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/oteladmission"
)

// Priority and tenant travel in the baggage, from the service that is asked first to all
// that it asks in turn.
func ExampleInject() {
	ctx, err := oteladmission.Inject(context.Background(), admission.NewPriority(admission.T1, 37), "acme")
	if err != nil {
		fmt.Println(err)
		return
	}
	priority, tenant := oteladmission.Extract(ctx) // on the other side, of a trusted caller
	fmt.Println(priority, tenant)
	// Output:
	// t1/37 acme
}
