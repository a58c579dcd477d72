package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	flow "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// fairQueues are one priority level of Kubernetes' API priority and fairness: its queue set, which decides who runs, waits or is
// refused. Levels lend each other what they do not use only by the controller around them, which needs the
// API's objects and their informers; so there is one level here, and tiers are not told apart.
type fairQueues struct{ s fairqueuing.QueueSet }

// newFairQueues is the level global-default as suggested in k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap/default.go:
// "Queues: 128, HandSize: 6, QueueLengthLimit: 50", with a flow for each user
// (FlowDistinguisherMethodByUserType), who is the tenant here.
func newFairQueues(e env) (limiter, error) {
	c, err := queueset.NewQueueSetFactory(eventclock.Real{}).BeginConstruction(
		fairqueuing.QueuingConfig{Name: flowSchema, DesiredNumQueues: 128, HandSize: 6, QueueLengthLimit: 50},
		metrics.RatioedGaugePair{RequestsWaiting: unread{}, RequestsExecuting: unread{}}, unread{}, unread{})
	if err != nil {
		return nil, err
	}
	return fairQueues{c.Complete(fairqueuing.DispatchingConfig{ConcurrencyLimit: e.limit, ConcurrencyDenominator: e.limit})}, nil
}

const flowSchema = "global-default"

// oneSeat is what a request takes whose width is not estimated.
var oneSeat = flow.WorkEstimate{InitialSeats: 1}

func (l fairQueues) do(ctx context.Context, r *request, work func(context.Context) error) (ran bool) {
	patient, cancel := context.WithTimeout(ctx, waitLimit(ctx))
	defer cancel()
	req, _ := l.s.StartRequest(patient, &oneSeat, flowHash(r.tenant), r.tenant, flowSchema, nil, nil, func(bool) {})
	if req == nil {
		return false
	}
	req.Finish(func() { ran = true; _ = work(ctx) })
	return ran
}

// waitLimit is that of k8s.io/apiserver/pkg/server/filters/priority-and-fairness.go: "we will allow the request to wait in the
// queue for one fourth of the time of its allotted deadline", and without one for a quarter of the
// server's request timeout, which is a minute by default.
func waitLimit(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return time.Until(deadline) / 4
	}
	return time.Minute / 4
}

// flowHash is as in k8s.io/apiserver/pkg/util/flowcontrol/apf_controller.go (hashFlowID), which it keeps to itself.
func flowHash(flow string) uint64 {
	sum := sha256.Sum256([]byte(flowSchema + "\x00" + flow))
	return binary.LittleEndian.Uint64(sum[:8])
}

func (fairQueues) close() {}

// unread is a gauge that nobody reads.
type unread struct{}

func (unread) Set(float64)            {}
func (unread) Inc()                   {}
func (unread) Dec()                   {}
func (unread) Add(float64)            {}
func (unread) SetToCurrentTime()      {}
func (unread) SetDenominator(float64) {}
