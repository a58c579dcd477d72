package load

import (
	"net/http"
	"testing"
	"time"
)

// A service's times are what it takes alone, at speed 1.
func TestServiceTimes(t *testing.T) {
	bubble(t, workers(2, 10*time.Millisecond), func(t *testing.T, c *Client) {
		double := func(_, _ time.Time) (float64, error) { return 2, nil }
		took, err := ServiceTimes(t.Context(), c, Probe{Mix: oneClass(t), Window: time.Second, Deadline: time.Second, Seed: 1, Speed: double})
		if err != nil || len(took) != 100 || took[0] != 20*time.Millisecond || took[99] != took[0] {
			t.Errorf("%d times, %v; want a hundred of 20 ms", len(took), err)
		}
	})
}

// A window with hardly an answer goes on for a while, and without any there is an error.
func TestServiceTimesOfASlowTarget(t *testing.T) {
	bubble(t, workers(1, 700*time.Millisecond), func(t *testing.T, c *Client) {
		took, err := ServiceTimes(t.Context(), c, Probe{Mix: oneClass(t), Window: time.Second, Deadline: 10 * time.Second})
		if err != nil || len(took) != leastGood || took[0] != 700*time.Millisecond {
			t.Errorf("%v, %v", took, err)
		}
	})
	bubble(t, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Millisecond)
		w.WriteHeader(http.StatusInternalServerError)
	}, func(t *testing.T, c *Client) {
		_, err := ServiceTimes(t.Context(), c, Probe{Mix: oneClass(t), Window: time.Second, Deadline: time.Second})
		wantErrors(t, err, "no request with success")
	})
}
