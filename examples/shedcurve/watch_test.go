package main

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
	"github.com/spillway-go/spillway/internal/race"
)

// A Prometheus that scrapes the service during a curve counts the shed requests by tier and reason as the clients do, and
// at three times the capacity an alert fires. The command that shows both says so.
func TestPrometheusSeesTheCurve(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	sizes := testSizes
	if !race.Enabled {
		sizes.Customers = 20 // as dear as the load test's, so that refusing is not most of the work
	}
	// No client gives up before it has its answer, so both sides know of every refusal.
	c := watchConfig{duration: 3 * time.Second, deadline: 10 * time.Second, sizes: sizes}
	w, err := startWatched(t.Context(), c, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer w.stop()
	if w.prometheus == nil && os.Getenv("CI") != "" {
		t.Fatal("CI is set, so that this must run: there is no prometheus in PATH")
	} else if w.prometheus == nil {
		t.Skip("no prometheus in PATH (Debian's package prometheus has it)")
	}
	before, err := w.sheds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[load.Shed]int{} // by the clients
	counted := map[load.Shed]int{}
	offer := func(x float64) []string {
		t.Helper()
		res, err := w.offer(t.Context(), x)
		if err != nil {
			t.Fatal(err, w.dead())
		}
		for k, n := range res.Sheds {
			seen[k] += n
		}
		after, err := w.sheds(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for k, n := range after {
			n -= before[k]
			counted[k] = n
			sum += n
			// One is forgiven: a connection may break.
			if off := math.Abs(float64(n - seen[k])); off > max(0.01*float64(seen[k]), 1) {
				t.Errorf("%gx: %v: Prometheus counts %d, the clients saw %d", x, k, n, seen[k])
			}
		}
		alerts, err := w.alerts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%gx of %.0f/s: %d offered, %d good, failed %v, shed %v; in all Prometheus counts %d shed; alerts %q",
			x, w.capacity, res.Offered, res.Good, res.Failures, res.Sheds, sum, alerts)
		return alerts
	}
	offer(0.5)
	offer(1)
	fires := func(alerts []string) bool { return strings.Contains(strings.Join(alerts, "\n"), "AdmissionSheds read") }
	for rounds := 0; !fires(offer(3)); rounds++ {
		if rounds == 5 {
			t.Fatal("no alert fires at three times the capacity")
		}
	}
	for k, n := range seen {
		if n > 1 && counted[k] == 0 {
			t.Errorf("%v: Prometheus knows nothing of %d", k, n)
		}
	}
	if len(seen) == 0 {
		t.Error("nothing was shed")
	}

	var stdout, stderr bytes.Buffer
	w.cfg.rates, w.cfg.rounds, w.cfg.duration = []float64{0.5, 1}, 1, 500*time.Millisecond
	if err := w.run(t.Context(), &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	if s := stderr.String(); !strings.Contains(s, "/debug/admission\n") || !strings.Contains(s, "Prometheus:  "+w.prometheus.URL+"/alerts\n") {
		t.Errorf("said %q", s)
	}
	if s := stdout.String(); !strings.HasPrefix(s, "0.5x: ") || !strings.Contains(s, "\n1x: ") || !strings.Contains(s, "AdmissionSheds read") {
		t.Errorf("printed %q", s)
	}
}
