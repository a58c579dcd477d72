package pid_test

import (
	"fmt"

	"github.com/spillway-go/spillway/pid"
)

// Twice as much comes as can be served. The ratio settles where a sixth more passes
// than that, so that the queue never runs dry; what is too much is lost in it.
func ExampleShedRatio() {
	var gate pid.ShedRatio
	for range 100 {
		rejected := uint64(200 * gate.Ratio())
		in := 200 - rejected
		gate.Tick(pid.RatioPeriod, pid.Flow{
			In: in, Rejected: rejected, Out: 100, Lost: in - 100,
			Inflight: 10, Limit: 10, Queued: 50, Allowance: pid.RatioPeriod,
		})
	}
	arrivals, capacity := gate.Rates()
	fmt.Printf("%.0f a second, of which %.0f can be served: shed %.1f\n", arrivals, capacity, gate.Ratio())
	// Output:
	// 2000 a second, of which 1000 can be served: shed 0.4
}

// Retune puts a new config in force: what the law has learned stays, within the new bounds.
func ExampleRetune() {
	limit, err := pid.NewLimit(pid.LimitConfig{Initial: 40})
	if err != nil {
		fmt.Println(err)
		return
	}
	limit, err = pid.Retune(limit, pid.LimitConfig{Initial: 10, Max: 30})
	fmt.Println(limit.Limit(), err)
	// Output:
	// 30 <nil>
}
