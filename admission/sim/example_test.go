package sim_test

import (
	"fmt"
	"strings"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/sim"
)

// Ten servers of 10 ms each can do 1,000 requests a second and are offered 2,000, in
// virtual time. The better tier, two fifths of them, hardly feels it.
func ExampleRun() {
	report, err := sim.Run(admission.Config{}, sim.Scenario{
		DurationS: 10, MeasureFromS: 5, CapacityRPS: 1000, Seed: 1,
		Backend: []sim.Station{{Servers: 10, Dist: sim.Dist{Kind: "exp", MeanMS: 10}}},
		Load:    sim.Arrivals{Points: []sim.Point{{0, 2}}},
		Client:  sim.Client{DeadlineMS: 500},
		TierMix: []float64{0, 0.4, 0, 0, 0, 0.6},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	served := func(t admission.Tier) float64 {
		return float64(report.Tiers[t].Good) / float64(report.Tiers[t].Requests)
	}
	fmt.Println("goodput is above 90 % of the capacity:", report.Goodput > 900)
	fmt.Println("t1 is served:", served(admission.T1) > 0.95, "and t5 is shed:", served(admission.T5) < 0.5)
	// Output:
	// goodput is above 90 % of the capacity: true
	// t1 is served: true and t5 is shed: true
}

// An access log, as a spreadsheet has it, can be played against a config.
func ExampleParseLog() {
	requests, err := sim.ParseLog(strings.NewReader(`time_s,service_time_ms,tier,tenant
1772366400.00,12,t1,acme
1772366400.25,80,t5,globex
`))
	for _, r := range requests {
		fmt.Println(r.At, r.Service, r.Tier, r.Tenant)
	}
	fmt.Println(err)
	// Output:
	// 0s 12ms t1 acme
	// 250ms 80ms t5 globex
	// <nil>
}
