package promadmission_test

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-go/spillway/admission"
)

// A wait and a service time of 250 ms show as a quarter of a second, in metrics whose
// names say so.
func TestB38TimesAreInSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, admission.Config{Lanes: map[string]admission.LaneConfig{"default": pinned(1)}})
		reg := prometheus.NewPedanticRegistry()
		register(t, reg, c)
		for range 2 {
			go func() {
				ticket, err := c.Admit(t.Context(), admission.Request{})
				if err != nil {
					t.Error(err)
				}
				time.Sleep(250 * time.Millisecond)
				ticket.Release(admission.Success)
			}()
		}
		time.Sleep(time.Second)
		families := scrape(t, reg)
		for name, want := range map[string]float64{"queue_wait_seconds": 0.25, "service_seconds": 0.5} {
			h := families[name].GetMetric()[0].GetHistogram()
			if sum := h.GetSampleSum(); h.GetSampleCount() != 2 || math.Abs(sum-want) > 0.1*want {
				t.Errorf("%s: %d, %v in all; want 2, %v", name, h.GetSampleCount(), sum, want)
			}
		}
		for name := range families {
			for _, unit := range []string{"_ms", "_ns", "millis", "nanos"} {
				if strings.Contains(name, unit) {
					t.Errorf("%s is not in seconds", name)
				}
			}
		}
	})
}
