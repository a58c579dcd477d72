package admission_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// Check tells all that is wrong with a config at once, and starts nothing.
func ExampleCheck() {
	err := admission.Check(admission.Config{Lanes: map[string]admission.LaneConfig{
		"write": {Limit: admission.LimitConfig{Min: 20, Max: 10}},
	}})
	fmt.Println(err)

	var field *admission.FieldError
	fmt.Println(errors.As(err, &field), field.Field)
	// Output:
	// admission: lanes["write"].limit.min is 20: must be at most max, 10
	// true lanes["write"].limit.min
}

// Apply puts a config in force while requests run; a wrong one changes nothing.
func ExampleController_Apply() {
	pinned := func(slots int) admission.Config {
		return admission.Config{Lanes: map[string]admission.LaneConfig{
			"default": {Limit: admission.LimitConfig{Fixed: slots}},
		}}
	}
	ctrl, err := admission.New(pinned(2))
	if err != nil {
		log.Fatal(err)
	}
	defer ctrl.Close()

	fmt.Println(ctrl.Apply(pinned(5)))
	fmt.Println(ctrl.Apply(pinned(-1)) != nil)
	lane, _ := ctrl.Stats().Lane("default")
	fmt.Println("limit:", lane.Limit)
	// Output:
	// <nil>
	// true
	// limit: 5
}

// Explain says what would become of a request now, step by step, and takes nothing.
func ExampleController_Explain() {
	ctrl, err := admission.New(admission.Config{Scorecard: admission.ScorecardConfig{Rules: []scorecard.Rule{
		{Name: "tenants", Match: "tenant:*", Cap: scorecard.Cap{N: 1}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer ctrl.Close()
	ctx, acme := context.Background(), admission.Request{Tenant: "acme"}
	ticket, err := ctrl.Admit(ctx, acme)
	if err != nil {
		log.Fatal(err)
	}
	defer ticket.Release(admission.Success)

	e := ctrl.Explain(ctx, acme)
	fmt.Println(e.Verdict)
	fmt.Println(e.Err)
	// Output:
	// shed
	// admission: shed by scorecard in lane default: tenant-cap
}

// A guard holds what must not be passed even for an instant, here the bytes in flight.
func ExampleWithGuard() {
	bytes, err := regulators.InflightBytes(1 << 20)
	if err != nil {
		log.Fatal(err)
	}
	ctrl, err := admission.New(admission.Config{
		Regulators: map[string]admission.RegulatorConfig{"uploads": {Counts: "bytes"}},
	}, admission.WithGuard("uploads", bytes))
	if err != nil {
		log.Fatal(err)
	}
	defer ctrl.Close()

	ticket, err := ctrl.Admit(context.Background(), admission.Request{Bytes: 900 << 10})
	fmt.Println(err)
	_, err = ctrl.Admit(context.Background(), admission.Request{Bytes: 900 << 10})
	fmt.Println(err)
	ticket.Release(admission.Success)
	// Output:
	// <nil>
	// admission: shed by uploads in lane default: regulator
}

// Hooks tell of each decision what belongs to that request alone.
func ExampleWithHooks() {
	ctrl, err := admission.New(admission.Config{}, admission.WithHooks(admission.Hooks{
		Shed: func(_ context.Context, r admission.Refusal) {
			fmt.Println("shed:", r.Request.Op, r.Err.Reason)
		},
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer ctrl.Close()

	hasty, cancel := context.WithTimeout(context.Background(), -time.Second)
	defer cancel()
	_, err = ctrl.Admit(hasty, admission.Request{Op: "report"})
	fmt.Println(errors.Is(err, admission.ErrShed))
	// Output:
	// shed: report deadline
	// true
}

// A priority is a tier and, inside it, a cohort of users.
func ExampleParsePriority() {
	p, err := admission.ParsePriority("t1/37")
	fmt.Println(p.Tier(), p.Cohort(), err)
	_, err = admission.ParsePriority("urgent")
	fmt.Println(err)
	// Output:
	// t1 37 <nil>
	// admission: priority "urgent": want "t0" to "t5", optionally followed by a cohort "/0" to "/127"
}

// TryAdmit never waits: who finds no free slot is told at once.
func ExampleController_TryAdmit() {
	ctrl, err := admission.New(admission.Config{
		Lanes: map[string]admission.LaneConfig{"default": {Limit: admission.LimitConfig{Fixed: 1}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer ctrl.Close()

	ticket, err := ctrl.TryAdmit(context.Background(), admission.Request{})
	fmt.Println(err)
	_, err = ctrl.TryAdmit(context.Background(), admission.Request{})
	var shed *admission.ShedError
	if errors.As(err, &shed) {
		fmt.Println(shed.Reason, shed.RetryAfter > 0)
	}
	ticket.Release(admission.Success)
	// Output:
	// <nil>
	// limit true
}
