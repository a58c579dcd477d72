package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
)

// resultOf is what a load gets from a service that takes so long for each request.
func resultOf(t *testing.T, service time.Duration) load.Result {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(service) }))
	defer srv.Close()
	a, err := targetArm(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer a.stop()
	o := short(t, srv.URL, 1)
	res, err := offerWhole(t.Context(), a, load.Config{Mix: o.mix, Rate: 50, Duration: 500 * time.Millisecond, Deadline: 10 * time.Second, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestNoisyMedian(t *testing.T) {
	fast, slow := resultOf(t, 0), resultOf(t, time.Second)
	better, worse := noisyPair{without: slow, with: fast}, noisyPair{without: fast, with: slow}
	t.Logf("changes of the p99: %.2f and %.2f", better.change(), worse.change())
	if better.change() >= 0 || worse.change() <= 0 {
		t.Errorf("changes %v and %v, want less and more than 0", better.change(), worse.change())
	}
	var out bytes.Buffer
	if err := writePairs(&out, 200, 60, 15, []noisyPair{worse, {without: fast, with: fast}, better}); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); !strings.Contains(s, "median change of the others' p99: +0 %") || strings.Count(s, "\n") != 5 {
		t.Errorf("printed %q", s)
	}
}
