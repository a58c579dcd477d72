package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
)

// offerRows has a new store asked for six tenths of what its back end can do, spread over a thousand rows, and, if hot,
// as often again for one row more: that is half of all requests, and more in all than the back end can do.
func offerRows(t *testing.T, seed uint64, hot bool, without ...string) (others, hottest load.Result) {
	t.Helper()
	client := serve(t, without...)
	get := func(key string) load.Request { return load.Request{Method: http.MethodGet, Path: "/rows/" + key} }
	cfg := load.Config{
		Mix:  requests(t, func(r *rand.Rand) load.Request { return get(fmt.Sprint(r.IntN(1000))) }),
		Rate: 0.6 * conns / lookup.Seconds(), WarmUp: 2 * lookup, Duration: 6 * lookup,
		Deadline: time.Second, Seed: seed,
	}
	var wg sync.WaitGroup
	if hot {
		one := cfg
		one.Seed += 1 << 32
		one.Mix = requests(t, func(*rand.Rand) load.Request { return get("hot") })
		wg.Go(func() { hottest = offer(t.Context(), t, client, one) })
	}
	others = offer(t.Context(), t, client, cfg)
	wg.Wait()
	return others, hottest
}

// change is what the hot row did to the others: two ratios, with it over without it.
type change struct{ goodput, p99 float64 }

func (c change) harm() bool { return c.goodput < 0.97 || c.p99 > 1.2 }

func changeOf(without, with load.Result) change {
	good := func(r load.Result) float64 { return float64(r.Good) / float64(r.Offered) }
	p99 := func(r load.Result) float64 { return float64(r.Admitted.Quantile(0.99)) }
	return change{good(with) / good(without), p99(with) / p99(without)}
}

// One row at half of the traffic, ten times what it may have in flight, does the others no harm. Without its guard
// it does.
func TestHotRowHarmsNoOther(t *testing.T) {
	const pairs = 5
	var goodput, p99 []float64
	for i := range uint64(pairs) {
		var without, with, hot load.Result
		arms := []func(){
			func() { without, _ = offerRows(t, seed+i, false) },
			func() { with, hot = offerRows(t, seed+i, true) },
		}
		arms[i%2]() // a machine that gets slower or faster favours neither
		arms[1-i%2]()
		c := changeOf(without, with)
		goodput, p99 = append(goodput, c.goodput), append(p99, c.p99)
		t.Logf("seed %d, the others without and with the hot row: %s; %s; it: %s", seed+i, figures(without), figures(with), figures(hot))
		if with.Reasons["keyed"] > 0 {
			t.Errorf("%d requests for other rows were shed as hot", with.Reasons["keyed"])
		}
		if hot.Good == 0 || hot.Good*5 > hot.Offered || hot.Good+hot.Reasons["keyed"] != hot.Offered {
			t.Errorf("the hot row: %s, want some served, most shed as keyed and nothing else", figures(hot))
		}
	}
	guarded := change{median(goodput), median(p99)}
	t.Logf("median of %d pairs: %+v", pairs, guarded)
	if guarded.harm() {
		t.Errorf("the others are left with %.3f of their goodput (want 0.97) and have %.2f times their p99 (at most 1.2)", guarded.goodput, guarded.p99)
	}

	without, _ := offerRows(t, seed, false, "hot-row")
	with, hot := offerRows(t, seed, true, "hot-row")
	unguarded := changeOf(without, with)
	t.Logf("without its guard: %s; %s; it: %s: %+v", figures(without), figures(with), figures(hot), unguarded)
	if !unguarded.harm() {
		t.Errorf("a hot row without a guard does no harm either (%+v): this test shows nothing", unguarded)
	}
}

func figures(r load.Result) string {
	return fmt.Sprintf("%d of %d good, shed %v, failed %v, p99 %v, generator late by %v", r.Good, r.Offered, r.Reasons, r.Failures,
		r.Admitted.Quantile(0.99).Round(time.Millisecond), r.Lag.Quantile(0.99).Round(time.Millisecond))
}

func median(xs []float64) float64 {
	slices.Sort(xs)
	return xs[len(xs)/2]
}
