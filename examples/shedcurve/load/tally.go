package load

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Tally counts the requests of one tier or tenant. Those neither good nor shed have failed.
type Tally struct{ Offered, Good, Shed int }

// Result is what became of the requests of a Run, or of a part of it. Offered = Good + Shed + Failed.
type Result struct {
	Offered int // due in the measured time
	Good    int // answered 2xx within the deadline
	Shed    int // answered 503 or 429
	Failed  int // all else: late, given up, other statuses, no connection, not sent

	Tiers    map[string]Tally
	Tenants  map[string]Tally
	Reasons  map[string]int // of shed requests
	Sheds    map[Shed]int   // the same, by tier too
	Failures map[string]int // of failed requests: "late", "given up", "status 500", "connection", "not sent"

	RetryAfter map[int]int // how often each Retry-After, in seconds, was seen

	Admitted Latency       // of requests that were not shed, from when they were due
	Lag      Latency       // of all: sent minus due
	Duration time.Duration // the measured time
}

// Shed is what shed requests are told apart by.
type Shed struct{ Tier, Reason string }

// Latency is a distribution of durations, from 1 us to a minute with three digits.
type Latency struct{ h *hdrhistogram.Histogram }

const mostLatency = int64(time.Minute / time.Microsecond)

func newLatency() Latency { return Latency{hdrhistogram.New(1, mostLatency, 3)} }

func (l Latency) add(d time.Duration) {
	// The bounds are those of the histogram, so there is no error to report.
	_ = l.h.RecordValue(min(max(d.Microseconds(), 1), mostLatency))
}

func (l Latency) merge(o Latency) {
	if o.h != nil {
		l.h.Merge(o.h)
	}
}

// Count is how many durations were recorded.
func (l Latency) Count() int {
	if l.h == nil {
		return 0
	}
	return int(l.h.TotalCount())
}

// Quantile is the duration that a share q, 0 to 1, of all does not exceed; zero when there are none.
func (l Latency) Quantile(q float64) time.Duration {
	if l.Count() == 0 {
		return 0
	}
	return time.Duration(l.h.ValueAtPercentile(q*100)) * time.Microsecond
}

// tally collects a Result from many goroutines.
type tally struct {
	deadline time.Duration
	mu       sync.Mutex
	res      Result
}

func newTally(deadline time.Duration) *tally {
	return &tally{deadline: deadline, res: newResult()}
}

func newResult() Result {
	return Result{
		Tiers: map[string]Tally{}, Tenants: map[string]Tally{}, Reasons: map[string]int{}, Sheds: map[Shed]int{}, Failures: map[string]int{},
		RetryAfter: map[int]int{}, Admitted: newLatency(), Lag: newLatency(),
	}
}

// add counts one request that took so long from when it was due. Its lag is negative if it was never sent.
func (t *tally) add(tier, tenant string, lag, took time.Duration, a answer) {
	failure := a.failure(took, t.deadline)
	one := Tally{Offered: 1}
	switch {
	case a.shed() && a.err == nil:
		one.Shed = 1
	case failure == "":
		one.Good = 1
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.res.Offered++
	t.res.Good += one.Good
	t.res.Shed += one.Shed
	t.res.Tiers[tier] = t.res.Tiers[tier].plus(one)
	if tenant != "" {
		t.res.Tenants[tenant] = t.res.Tenants[tenant].plus(one)
	}
	if lag >= 0 {
		t.res.Lag.add(lag)
	}
	if one.Shed == 1 {
		t.res.Reasons[a.reason]++
		t.res.Sheds[Shed{tier, a.reason}]++
		if a.retryAfter >= 0 {
			t.res.RetryAfter[a.retryAfter]++
		}
		return
	}
	t.res.Admitted.add(took)
	if failure != "" {
		t.res.Failed++
		t.res.Failures[failure]++
	}
}

func (t Tally) plus(o Tally) Tally {
	return Tally{t.Offered + o.Offered, t.Good + o.Good, t.Shed + o.Shed}
}

var errNotSent = errors.New("load: too many requests outstanding")

// failure says how a request that was not shed failed; empty if it did not.
func (a answer) failure(took, deadline time.Duration) string {
	switch {
	case errors.Is(a.err, errNotSent):
		return "not sent"
	case errors.Is(a.err, context.DeadlineExceeded):
		return "given up"
	case a.err != nil:
		return "connection"
	case a.status < 200 || a.status > 299:
		return "status " + strconv.Itoa(a.status)
	case took > deadline:
		return "late"
	}
	return ""
}
