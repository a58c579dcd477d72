package debug

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/internal/admissiontest"
	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// markup is a tenant who would like to be more than text, and colour a terminal.
const markup = "<script>alert(1)</script><b onclick='x()'>\"&\x1b[31m"

// laggard returns a controller whose lane write has a follower that lags: above its
// setpoint until about half is shed, then all but at it.
func laggard(t *testing.T) *admission.Controller {
	t.Helper()
	var ctrl atomic.Pointer[admission.Controller]
	enough := false // the poller's
	lag := func(context.Context) (float64, error) {
		if c := ctrl.Load(); c != nil {
			l, _ := c.Stats().Lane("write")
			enough = enough || l.ShedRatio > 0.45
		}
		if enough {
			return 0.81, nil
		}
		return 1.4, nil
	}
	c := newController(t, admission.Config{
		Lanes: map[string]admission.LaneConfig{"write": {Limit: admission.LimitConfig{Fixed: 20}}},
		Regulators: map[string]admission.RegulatorConfig{
			"lag": {Setpoint: 0.8, KI: 0.3, Lanes: []string{"write"}}, // slow, so that it stops between t5 and t1
		},
		Scorecard: admission.ScorecardConfig{Rules: []scorecard.Rule{
			{Name: "each tenant", Match: "tenant:*", Cap: scorecard.Cap{N: 2}},
		}},
	}, admission.WithSignal("lag", regulators.Func(lag)))
	ctrl.Store(c)
	return c
}

// newController is closed, and found quiet, when the test ends.
var newController = admissiontest.Control

// drive sends 100 requests a second to lane write for d: a third each of t1, t3 and
// t5, and a few of a tenant who meets his cap.
func drive(ctrl *admission.Controller, d time.Duration) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range int(d / (10 * time.Millisecond)) {
		r := admission.Request{Lane: "write", Caller: "checkout", Op: "POST /orders", Key: fmt.Sprintf("order-%d", i)}
		r.Priority = []admission.Tier{admission.T1, admission.T3, admission.T5}[i%3].Priority()
		r.Tenant = fmt.Sprintf("tenant-%d", i%7)
		times := 1
		if i%100 == 0 {
			r.Tenant, r.Priority, times = markup, admission.T0.Priority(), 4
		}
		for range times {
			wg.Go(func() {
				_ = ctrl.Do(context.Background(), r, func(context.Context) error {
					time.Sleep(50 * time.Millisecond)
					return nil
				})
			})
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// inOverload calls look while the laggard sheds.
func inOverload(t *testing.T, look func(t *testing.T, ctrl *admission.Controller)) {
	synctest.Test(t, func(t *testing.T) {
		ctrl := laggard(t)
		time.Sleep(10 * time.Millisecond)
		drive(ctrl, 12*time.Second)
		look(t, ctrl)
	})
}

func get(t *testing.T, h http.Handler, query string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://orders.test/debug/admission"+query, nil))
	return w
}

func mustRule(t *testing.T, s string) scorecard.Rule {
	t.Helper()
	r, err := scorecard.ParseRule(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
