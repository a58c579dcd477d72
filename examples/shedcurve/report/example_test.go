package report_test

import (
	"fmt"
	"os"

	"github.com/spillway-go/spillway/examples/shedcurve/report"
)

// A service that can do 100 requests/s was asked for 200.
func ExampleReport_WriteTable() {
	r := report.Report{
		CapacityRPS: 100, DeadlineMS: 250, Seed: 1,
		Arms: []report.Arm{
			{Name: report.ArmOff, Points: []report.Point{{
				X: 2, OfferedRPS: 200, GoodputRPS: 12, AdmittedP50MS: new(250.0), AdmittedP99MS: new(250.0),
				Offered: 1000, Good: 60, Admitted: 1000, Failed: 940, DurationS: 5, Valid: true,
			}}},
			{Name: report.ArmOn, Points: []report.Point{{
				X: 2, OfferedRPS: 200, GoodputRPS: 97, AdmittedP50MS: new(9.0), AdmittedP99MS: new(48.0),
				Offered: 1000, Good: 485, Admitted: 485, Shed: 515, DurationS: 5, Valid: true,
			}}},
		},
	}
	if err := r.WriteTable(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Goodput, latency of the admitted, and what the service used
	// load  arm  offered/s  goodput/s  of cap.  p50 ms  p99 ms   shed  failed  goroutines  heap MB  cores
	//   2x  off        200         12    12.0%     250     250   0.0%   94.0%
	//   2x   on        200         97    97.0%       9      48  51.5%    0.0%
	//
	// capacity 100 requests/s, deadline 250 ms, arrivals open loop, Poisson, seed 1
	// generator lag p99 0 ms
	// Offered 2× its capacity, the service keeps 97% of it as goodput with Spillway, 12% without Spillway
}
