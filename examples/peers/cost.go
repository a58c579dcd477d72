package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// cost is what one kind of decision takes.
type cost struct {
	peer, kind string    // kind: "admit+release" or how it refuses
	ns         []float64 // for each of costColumns, the median of the rounds
	allocs     float64   // a decision, of one goroutine
	missed     float64   // share of the decisions that came out otherwise
}

// costColumns are the conditions, in the order of cost.ns.
var costColumns = []struct {
	name       string
	procs      int
	goroutines int
}{
	{"1 proc", 1, 1}, {"2 procs", 2, 1}, {"1 proc, 1,024 goroutines", 1, 1024}, {"2 procs, 1,024 goroutines", 2, 1024},
}

const (
	admitRelease = "admit+release"

	// roomy is the limit for those who are to admit 1,024 at once.
	roomy = 8192
	// warmUp is how long each kind of decision is repeated before it is measured: some find out by themselves
	// how much they are asked, and the first column would be the only one to show them without knowing.
	warmUp = 150 * time.Millisecond
	// missedMost is the share of decisions that may come out otherwise.
	missedMost = 0.2
)

// measureCosts measures every peer so many times, by turns so that a slow second of the machine is no peer's
// own, and returns the medians. Each measurement takes about d.
func measureCosts(peers []peer, rounds int, d time.Duration, progress io.Writer) ([]cost, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var all []cost
	samples := map[[2]string][][]float64{}
	for round := range rounds {
		for _, p := range peers {
			costs, err := costsOf(p, d)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			for _, c := range costs {
				key := [2]string{c.peer, c.kind}
				samples[key] = append(samples[key], c.ns)
				if round == 0 {
					all = append(all, c)
				}
			}
		}
		fmt.Fprintf(progress, "decision cost: %d of %d\n", round+1, rounds)
	}
	for i, c := range all {
		all[i].ns = medians(samples[[2]string{c.peer, c.kind}])
	}
	return all, nil
}

func medians(rows [][]float64) []float64 {
	out := make([]float64, len(rows[0]))
	for i := range out {
		column := make([]float64, len(rows))
		for k, row := range rows {
			column[k] = row[i]
		}
		slices.Sort(column)
		out[i] = column[len(column)/2]
	}
	return out
}

// costsOf measures one peer once: what it admits, and each way in which it refuses.
func costsOf(p peer, d time.Duration) ([]cost, error) {
	setCPU(0)
	admitting, err := p.start(env{limit: roomy, capacity: 1e12, initial: roomy})
	if err != nil {
		return nil, err
	}
	ctx, r := context.Background(), &request{tier: 1, cohort: 7, tenant: "acme"}
	c, err := measure(p.name, admitRelease, d, func() bool { return admitting.do(ctx, r, nothing) })
	admitting.close()
	if err != nil || p.name == "none" {
		return []cost{c}, err
	}
	costs := []cost{c}

	refusing, err := p.start(env{limit: 1, capacity: 1, initial: 1})
	if err != nil {
		return nil, err
	}
	defer refusing.close()
	defer keepCPU(func() float64 { return 1 })()
	ways, err := refusalsOf(refusing, r)
	if err != nil {
		return nil, err
	}
	for _, kind := range slices.Sorted(maps.Keys(ways)) {
		if c, err = measure(p.name, kind, d, ways[kind]); err != nil {
			return nil, err
		}
		costs = append(costs, c)
	}
	return costs, nil
}

func nothing(context.Context) error { return nil }

// refusalsOf brings a limiter with one slot into its refusing state. The way of most is to be full: some
// hold what there is, and others wait where that is possible.
func refusalsOf(l limiter, r *request) (map[string]func() bool, error) {
	if l, ok := l.(refuser); ok {
		return l.refusals()
	}
	ctx := context.Background()
	for range 200 { // a history, for those who have to know what they can do
		patient, cancel := context.WithTimeout(ctx, time.Millisecond)
		l.do(patient, r, func(context.Context) error { time.Sleep(time.Millisecond); return nil })
		cancel()
	}
	const inARow, most, patience = 20, 500, time.Millisecond
	refused := 0
	for range most {
		patient, cancel := context.WithTimeout(ctx, patience)
		l.do(patient, r, nothing) // some go by what they see when one ends
		cancel()
		settled := make(chan bool, 2)
		go func() {
			settled <- !l.do(ctx, r, func(context.Context) error {
				settled <- false
				select {} // for as long as the process lives
			})
		}()
		select {
		case no := <-settled:
			if !no {
				refused = 0
				break // it is inside
			}
			if refused++; refused == inARow {
				return map[string]func() bool{"full": func() bool { return !l.do(ctx, r, nothing) }}, nil
			}
		case <-time.After(patience): // it waits
		}
	}
	return nil, nil // it has never refused at once
}

// measure takes the time of op, which should return true, under every condition.
func measure(peer, kind string, d time.Duration, op func() bool) (cost, error) {
	c := cost{peer: peer, kind: kind}
	for end := time.Now().Add(warmUp); time.Now().Before(end); {
		op()
	}
	n, took := 64, time.Duration(0)
	for took < d/4 && n < 1<<30 {
		n *= 2
		took = repeat(op, n, 1, nil)
	}
	n = max(2048, int(float64(n)*float64(d)/float64(max(took, 1))))

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	repeat(op, n, 1, nil)
	runtime.ReadMemStats(&after)
	c.allocs = float64(after.Mallocs-before.Mallocs) / float64(n)

	var missed atomic.Int64
	all := 0
	for _, col := range costColumns {
		runtime.GOMAXPROCS(col.procs)
		took := repeat(op, n, col.goroutines, &missed)
		c.ns = append(c.ns, float64(took.Nanoseconds())/float64(n))
		all += n
	}
	if c.missed = float64(missed.Load()) / float64(all); c.missed > missedMost {
		return c, fmt.Errorf("%s: %.0f %% of the decisions came out otherwise", kind, 100*c.missed)
	}
	return c, nil
}

// repeat has so many goroutines share n times op.
func repeat(op func() bool, n, goroutines int, missed *atomic.Int64) time.Duration {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for g := range goroutines {
		ready.Add(1)
		share := (n + g) / goroutines
		done.Go(func() {
			ready.Done()
			<-start
			bad := 0
			for range share {
				if !op() {
					bad++
				}
			}
			if missed != nil && bad > 0 {
				missed.Add(int64(bad))
			}
		})
	}
	ready.Wait()
	began := time.Now()
	close(start)
	done.Wait()
	return time.Since(began)
}

// multiple of what x/sync's TryAcquire takes for the same, where that was measured.
func multiple(c cost, costs []cost) string {
	for _, base := range costs {
		if base.peer == "x/sync TryAcquire" && (base.kind == admitRelease) == (c.kind == admitRelease) {
			return fmt.Sprintf("%.1f", c.ns[0]/base.ns[0])
		}
	}
	return ""
}

// costTable is in Markdown.
func costTable(costs []cost) string {
	var b strings.Builder
	b.WriteString("| peer | decision |")
	for _, c := range costColumns {
		fmt.Fprintf(&b, " %s, ns |", c.name)
	}
	b.WriteString(" allocations | of x/sync's |\n|---|---|" + strings.Repeat("--:|", len(costColumns)+2) + "\n")
	for _, c := range costs {
		kind := c.kind
		if kind != admitRelease {
			kind = "shed: " + kind
		}
		fmt.Fprintf(&b, "| %s | %s |", c.peer, kind)
		for _, ns := range c.ns {
			fmt.Fprintf(&b, " %.0f |", ns)
		}
		fmt.Fprintf(&b, " %.1f | %s |\n", c.allocs, multiple(c, costs))
	}
	return b.String()
}
