package load

import (
	"context"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

type randRand = rand.Rand

func TestReadAnswer(t *testing.T) {
	const problem = "application/problem+json"
	for _, tt := range []struct {
		name       string
		status     int
		header     map[string]string
		body       string
		reason     string
		retryAfter int
	}{
		{"good", 200, nil, "hello", "", -1},
		{"hint on success is none of ours", 200, map[string]string{"Retry-After": "3"}, "", "", -1},
		{"problem", 503, map[string]string{"Content-Type": problem, "Retry-After": "3"}, `{"title":"x","reason":"priority"}`, "priority", 3},
		{"problem with charset", 429, map[string]string{"Content-Type": problem + "; charset=utf-8"}, `{"reason":"tenant-cap"}`, "tenant-cap", -1},
		{"header", 503, map[string]string{"X-Admission-Reason": "queue-full", "Retry-After": "0"}, "no json", "queue-full", 0},
		{"broken problem, header", 503, map[string]string{"Content-Type": problem, "X-Admission-Reason": "limit"}, `{"reason":`, "limit", -1},
		{"says nothing", 503, nil, "", "503", -1},
		{"date for a hint", 429, map[string]string{"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, "", "429", -1},
		{"negative hint", 503, map[string]string{"Retry-After": "-1"}, "", "503", -1},
		{"error", 500, map[string]string{"X-Admission-Reason": "limit"}, "", "", -1},
	} {
		w := httptest.NewRecorder()
		for k, v := range tt.header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(tt.status)
		w.WriteString(tt.body)
		a := read(w.Result())
		if a.err != nil || a.status != tt.status || a.reason != tt.reason || a.retryAfter != tt.retryAfter {
			t.Errorf("%s: %+v, want reason %q, retry after %d", tt.name, a, tt.reason, tt.retryAfter)
		}
	}
}

// Every request ends in exactly one of good, shed and failed, and its latency counts unless it was shed.
func TestTally(t *testing.T) {
	const deadline = 100 * time.Millisecond
	tl := newTally(deadline)
	add := func(tier, tenant string, took time.Duration, a answer) { tl.add(tier, tenant, 0, took, a) }
	add("t1", "a", 10*time.Millisecond, answer{status: 200, retryAfter: -1})
	add("t1", "a", deadline, answer{status: 204, retryAfter: -1})
	add("t1", "a", deadline+1, answer{status: 200, retryAfter: -1})
	add("t1", "b", time.Millisecond, answer{status: 500, retryAfter: -1})
	add("t2", "b", time.Millisecond, answer{status: 304, retryAfter: -1})
	add("t2", "b", time.Millisecond, answer{status: 503, reason: "priority", retryAfter: 2})
	add("t5", "b", time.Hour, answer{status: 429, reason: "tenant-cap", retryAfter: 2})
	add("t5", "", time.Millisecond, answer{status: 503, reason: "priority", retryAfter: 5})
	add("t5", "", deadline, answer{err: context.DeadlineExceeded, retryAfter: -1})
	add("t5", "", deadline, answer{status: 503, err: context.DeadlineExceeded, reason: "priority", retryAfter: 9}) // cut off in the body
	add("t5", "", 0, answer{err: http.ErrHandlerTimeout, retryAfter: -1})
	tl.add("t5", "", -1, 0, answer{err: errNotSent, retryAfter: -1})

	r := tl.res
	if r.Offered != 12 || r.Good != 2 || r.Shed != 3 || r.Failed != 7 {
		t.Errorf("offered %d good %d shed %d failed %d, want 12 2 3 7", r.Offered, r.Good, r.Shed, r.Failed)
	}
	if want := map[string]Tally{"t1": {4, 2, 0}, "t2": {2, 0, 1}, "t5": {6, 0, 2}}; !maps.Equal(r.Tiers, want) {
		t.Errorf("tiers %v, want %v", r.Tiers, want)
	}
	if want := map[string]Tally{"a": {3, 2, 0}, "b": {4, 0, 2}}; !maps.Equal(r.Tenants, want) {
		t.Errorf("tenants %v, want %v", r.Tenants, want)
	}
	if want := map[string]int{"priority": 2, "tenant-cap": 1}; !maps.Equal(r.Reasons, want) {
		t.Errorf("reasons %v, want %v", r.Reasons, want)
	}
	if want := map[int]int{2: 2, 5: 1}; !maps.Equal(r.RetryAfter, want) {
		t.Errorf("hints %v, want %v", r.RetryAfter, want)
	}
	if want := map[string]int{"late": 1, "status 500": 1, "status 304": 1, "given up": 2, "connection": 1, "not sent": 1}; !maps.Equal(r.Failures, want) {
		t.Errorf("failures %v, want %v", r.Failures, want)
	}
	if r.Admitted.Count() != 9 || r.Lag.Count() != 11 {
		t.Errorf("%d latencies of admitted, %d lags; want 9 and 11", r.Admitted.Count(), r.Lag.Count())
	}
}

func TestLatency(t *testing.T) {
	if q := (Latency{}).Quantile(0.5); q != 0 {
		t.Errorf("the zero Latency has a median of %v", q)
	}
	l := newLatency()
	for i := range 1000 {
		l.add(time.Duration(i+1) * time.Millisecond)
	}
	for q, want := range map[float64]float64{0: 0.001, 0.5: 0.5, 0.99: 0.99, 1: 1} {
		near(t, "quantile", l.Quantile(q).Seconds(), want, 0.002)
	}
	l.add(-time.Second)
	l.add(time.Hour)
	if l.Count() != 1002 || l.Quantile(0) > 2*time.Microsecond {
		t.Errorf("durations out of range were dropped: %d, least %v", l.Count(), l.Quantile(0))
	}
	near(t, "most", l.Quantile(1).Seconds(), 60, 0.002)
}

func TestMixFollowsWeights(t *testing.T) {
	m := mixOf(t, "weight=1 tier=t1 GET /a", "weight=2.5 tier=t2 GET /b", "weight=0.5 tier=t5 GET /c")
	n := map[string]float64{}
	r := anyRand()
	for range 100_000 {
		class, req := m.draw(r)
		if class.Name != "GET "+req.Path {
			t.Fatalf("class %q made %q", class.Name, req.Path)
		}
		n[req.Path]++
	}
	near(t, "/a", n["/a"], 25_000, 0.03)
	near(t, "/b", n["/b"], 62_500, 0.03)
	near(t, "/c", n["/c"], 12_500, 0.03)
}

func TestMixErrors(t *testing.T) {
	_, err := NewMix()
	wantErrors(t, err, "classes: none")
	_, err = NewMix(Class{Name: "a", Weight: -1, Tier: "t6"}, Class{Name: "b", Weight: 1, Tier: "t0", Make: func(*randRand) Request { return Request{} }})
	wantErrors(t, err, `"a": weight is -1`, `"a": tier is "t6"`, `"a": make is nil`)
	if strings.Contains(err.Error(), `"b"`) {
		t.Errorf("%v names a class that is right", err)
	}
}

// wantErrors checks that err has all the parts.
func wantErrors(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", parts)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}
