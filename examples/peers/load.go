package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"
)

// load is what one run offers to one peer before one back end. It goes to a process of its own as JSON.
type load struct {
	Peer  string
	Shape shape
	Limit int // for those whose limit is set by hand

	X      float64       // arrivals, in multiples of capacity
	Before float64       // those before the step, which is where what counts begins; 0: no step
	WarmUp time.Duration // not counted
	Count  time.Duration // counted, by arrival
	Noisy  bool          // tenants: nine that fit and one that takes what X leaves
	Seed   uint64
}

const (
	// deadline is how long a client waits, some ten times what a request takes.
	deadline = 250 * time.Millisecond
	// workSigma is that of the work, which is lognormal with mean meanWork.
	workSigma = 0.5
	// cpuPeriod is how often those who shed by CPU usage are told it.
	cpuPeriod = 250 * time.Millisecond
	// slice is the grain at which a step is seen.
	slice = 250 * time.Millisecond
)

// tierShares are those of the arrivals: t0 and t1 together fit up to five times the capacity.
var tierShares = [...]float64{0.02, 0.18, 0.2, 0.2, 0.2, 0.2}

// quietTenants each offer quietShare of the capacity, which together fits.
const (
	quietTenants = 9
	quietShare   = 0.07
	noisyTenant  = "tenant-0"
)

// tally counts requests.
type tally struct{ Offered, Good, Shed int }

func (t tally) share() float64 { return float64(t.Good) / float64(max(1, t.Offered)) }

// result is what became of a load. Its times are in seconds.
type result struct {
	tally
	Goodput float64 // a second
	P50     float64 // of the good ones
	P99     float64 // of all that were admitted; those that missed the deadline took as long as that
	Tiers   [len(tierShares)]tally
	Quiet   tally // the tenants that keep to what fits
	Slices  []int // good ones by when they were answered, from the step on
}

// play offers the load and blocks until all is answered. It must run in a bubble.
func play(l load) (result, error) {
	p, ok := find(l.Peer)
	if !ok {
		return result{}, errUnknown(l.Peer)
	}
	e := env{limit: l.Limit, capacity: capacity}
	if l.Noisy {
		e.tenants = tenantNames()
	}
	limiter, err := p.start(e)
	if err != nil {
		return result{}, err
	}
	r := &run{load: l, limiter: limiter, backend: newBackend(l.Shape), start: time.Now()}
	r.sum.Slices = make([]int, l.Count/slice)
	stop := make(chan struct{})
	go r.tellCPU(stop)
	r.offer()
	close(stop)
	limiter.close()
	return r.result(), nil
}

// run is a load while it is offered.
type run struct {
	load
	limiter limiter
	backend *backend
	start   time.Time

	mu        sync.Mutex
	sum       result
	latencies []float64 // of the admitted
	good      []float64
}

func (r *run) tellCPU(stop chan struct{}) {
	for tick := time.NewTicker(cpuPeriod); ; {
		select {
		case <-tick.C:
			setCPU(r.backend.utilisation(cpuPeriod))
		case <-stop:
			tick.Stop()
			return
		}
	}
}

// offer has requests arrive, whatever becomes of those before, and waits for the last one's end.
func (r *run) offer() {
	rng := rand.New(rand.NewPCG(r.Seed, 1))
	var clients sync.WaitGroup
	at, end := time.Duration(0), r.WarmUp+r.Count
	for {
		x := r.X
		if at < r.WarmUp && r.Before > 0 {
			x = r.Before
		}
		at += time.Duration(rng.ExpFloat64() / (x * capacity) * 1e9)
		req, work := r.draw(rng, x), meanWork.Seconds()*math.Exp(workSigma*rng.NormFloat64()-workSigma*workSigma/2)
		if at >= end {
			break
		}
		time.Sleep(time.Until(r.start.Add(at)))
		arrived := at
		clients.Go(func() { r.ask(req, work, arrived) })
	}
	clients.Wait()
}

// draw makes a request, when x times the capacity arrive.
func (r *run) draw(rng *rand.Rand, x float64) *request {
	req := &request{cohort: rng.IntN(128)}
	req.tenant = "user-" + strconv.Itoa(req.cohort)
	u := rng.Float64()
	if r.Noisy {
		req.tier, req.tenant = 2, noisyTenant
		if k := int(u * x / quietShare); k < quietTenants {
			req.tenant = tenantNames()[k+1]
		}
		return req
	}
	for req.tier = 0; req.tier < len(tierShares)-1 && u >= tierShares[req.tier]; req.tier++ {
		u -= tierShares[req.tier]
	}
	return req
}

// tenantNames has the noisy one first.
var tenantNames = sync.OnceValue(func() []string {
	names := []string{noisyTenant}
	for k := range quietTenants {
		names = append(names, "tenant-"+strconv.Itoa(k+1))
	}
	return names
})

// ask is one client.
func (r *run) ask(req *request, work float64, at time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	began := time.Now()
	var err error
	admitted := r.limiter.do(ctx, req, func(ctx context.Context) error {
		err = r.backend.serve(ctx, work)
		return err
	})
	if at < r.WarmUp {
		return
	}
	took := time.Since(began)
	good := admitted && err == nil && took <= deadline
	shed := !admitted && ctx.Err() == nil

	r.mu.Lock()
	defer r.mu.Unlock()
	count := []*tally{&r.sum.tally, &r.sum.Tiers[req.tier]}
	if r.Noisy && req.tenant != noisyTenant {
		count = append(count, &r.sum.Quiet)
	}
	for _, t := range count {
		t.Offered++
		if good {
			t.Good++
		}
		if shed {
			t.Shed++
		}
	}
	if !shed {
		r.latencies = append(r.latencies, min(took, deadline).Seconds())
	}
	if good {
		r.good = append(r.good, took.Seconds())
		if k := int((time.Since(r.start) - r.WarmUp) / slice); k < len(r.sum.Slices) {
			r.sum.Slices[k]++
		}
	}
}

func (r *run) result() result {
	r.sum.Goodput = float64(r.sum.Good) / r.Count.Seconds()
	r.sum.P50, r.sum.P99 = quantile(r.good, 0.5), quantile(r.latencies, 0.99)
	return r.sum
}

// quantile sorts x. Of none it is 0.
func quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return x[min(len(x)-1, int(q*float64(len(x))))]
}
