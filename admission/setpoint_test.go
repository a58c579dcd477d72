package admission

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// However small the setpoint, a pressure of nothing ends the shedding.
func TestSmallSetpointLetsGo(t *testing.T) {
	for _, setpoint := range []float64{1e-300, 1e-3, 0.05, 1, 1e6} {
		t.Run(fmt.Sprint(setpoint), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p regulators.Value
				p.Set(2 * setpoint)
				c := NewQuiet(t, Config{Regulators: map[string]RegulatorConfig{"lag": {Setpoint: setpoint}}}, WithSignal("lag", &p))
				time.Sleep(20 * time.Second)
				if r := c.Stats().Signals[0].Ratio; r < 0.5 {
					t.Errorf("setpoint %g: at twice the setpoint for 20 s the ratio is %v", setpoint, r)
				}
				p.Set(1e3 * setpoint)
				time.Sleep(20 * time.Second)
				p.Set(0)
				time.Sleep(10 * time.Second)
				if r := c.Stats().Signals[0].Ratio; r > 0 {
					t.Errorf("setpoint %g: 10 s without any pressure, and the ratio is still %v", setpoint, r)
				}
			})
		})
	}
}
