package promadmission_test

import (
	"context"
	"fmt"
	"log"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/promadmission"
)

// What a scrape reads of a controller that has served one request.
func ExampleRegister() {
	ctrl, err := admission.New(admission.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer ctrl.Close()
	registry := prometheus.NewRegistry()
	if err := promadmission.Register(registry, ctrl, promadmission.WithName("orders")); err != nil {
		log.Fatal(err)
	}
	_ = ctrl.Do(context.Background(), admission.Request{}, func(context.Context) error { return nil })

	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "admission_requests_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetCounter().GetValue() == 0 {
				continue
			}
			values := []string{}
			for _, l := range m.GetLabel() {
				values = append(values, l.GetName()+"="+l.GetValue())
			}
			slices.Sort(values)
			fmt.Println(values, m.GetCounter().GetValue())
		}
	}
	// Output:
	// [decision=admitted lane=default limiter=orders priority=t3 reason=] 1
}
