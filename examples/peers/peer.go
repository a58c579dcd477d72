package main

import "context"

// request is what a limiter may know of a request.
type request struct {
	tier   int // 0 is best
	cohort int // 0 to 127, of its user
	tenant string
}

// limiter is what every peer is made into.
type limiter interface {
	// do runs work if r is admitted, perhaps after a wait, and tells whether it was. An error of
	// work means that it was not done in time. It must be safe for concurrent use.
	do(ctx context.Context, r *request, work func(context.Context) error) bool
	// close ends what the limiter started, as far as it can be ended.
	close()
}

// refuser is a limiter that has cheaper ways to refuse than to be full, or one that is
// full only in a way of its own.
type refuser interface {
	// refusals brings the limiter into a state in which each of these refuses.
	refusals() (map[string]func() bool, error)
}

// env is what a peer is set up for.
type env struct {
	limit    int     // for those whose limit is set by hand; the best static one
	capacity float64 // requests/s, for those whose rate is set by hand
	initial  int     // for those who find their limit: where to start; 0: as they are by default
	tenants  []string
}

// peer is one library, and how it is started.
type peer struct {
	name    string
	byHand  bool // it is given the right limit or rate
	tiers   bool // it tells tiers apart
	tenants bool // it tells tenants apart
	start   func(env) (limiter, error)
}

// all are the rows of every table. The first is the one in question.
var all = []peer{
	{name: "spillway", tiers: true, tenants: true, start: newSpillway},
	{name: "failsafe-go limiter", start: newFailsafe},
	{name: "failsafe-go prioritized", tiers: true, tenants: true, start: newFailsafePrioritized},
	{name: "failsafe-go throttler", start: newFailsafeThrottler},
	{name: "go-concurrency-limits vegas", start: newVegas},
	{name: "go-concurrency-limits gradient2", start: newGradient2},
	{name: "aegis bbr", start: newAegis},
	{name: "go-zero shedder", start: newGoZero},
	{name: "sentinel system", start: newSentinelSystem},
	{name: "sentinel isolation", byHand: true, start: newSentinelIsolation},
	{name: "kubernetes apf", byHand: true, tenants: true, start: newFairQueues},
	{name: "goresilience codel", byHand: true, start: newGoresilience},
	{name: "bohde/codel", byHand: true, start: newCodel},
	{name: "bohde/codel priority", byHand: true, tiers: true, start: newCodelPriority},
	{name: "x/sync TryAcquire", byHand: true, start: newSemaphore},
	{name: "x/sync Acquire", byHand: true, start: newWaitingSemaphore},
	{name: "x/time/rate", byHand: true, start: newRate},
	{name: "none", start: newNone},
}

// find returns the peer of that name.
func find(name string) (peer, bool) {
	for _, p := range all {
		if p.name == name {
			return p, true
		}
	}
	return peer{}, false
}
