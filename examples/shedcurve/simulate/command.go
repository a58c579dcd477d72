package simulate

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/spillway-go/spillway/admission/sim"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Main runs the command with its arguments, those after "sim", and returns its
// exit status: 2 for wrong arguments, 1 for a run or a file that failed and for
// requirements that are not met. It writes results to stdout, errors, what is not
// met and progress to stderr.
func Main(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		fmt.Fprintln(stderr, "shedcurve sim:", err)
		return exitUsage
	}
	if err := o.run(stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "shedcurve sim:", err)
		return exitFailed
	}
	return exitOK
}

func (o *options) run(stdout, stderr io.Writer) error {
	if o.against != nil {
		return o.runAgainst(stdout)
	}
	results, err := o.simulate(stderr)
	if err != nil {
		return err
	}
	if o.laws {
		return o.writeStandings(stdout, results)
	}
	rows := make([]row, len(results))
	for i := range results {
		rows[i] = results[i].row()
	}
	if o.json {
		err = writeJSON(stdout, rows)
	} else {
		err = writeTable(stdout, rows)
	}
	if err == nil && o.out != "" {
		err = o.draw(results)
	}
	if err != nil {
		return err
	}
	return unmet(rows, o.required)
}

func writeJSON(w io.Writer, rows any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(rows)
}

// result is all runs of one scenario with one contender.
type result struct {
	scenario  sim.Scenario
	contender *contender
	reports   []sim.Report // by seed
	oracle    *sim.Oracle
}

// laneHint says how to choose a lane where r's scenario names none and its config has others than the default.
func laneHint(r *result) string {
	_, named := r.contender.config.Lanes["default"]
	_, unnamed := r.contender.config.Lanes[""]
	if r.scenario.Lane != "" || len(r.contender.config.Lanes) == 0 || named || unnamed {
		return ""
	}
	return "; choose it with -lane"
}

// simulate runs everything on all cores. A scenario's results, one for each
// contender, come one after the other.
func (o *options) simulate(stderr io.Writer) ([]result, error) {
	n := len(o.contenders)
	results := make([]result, len(o.scenarios)*n)
	var mu sync.Mutex // of done and stderr
	done := 0
	one := func(i, k int) error {
		r := &results[i*n+k]
		r.scenario, r.contender = o.scenarios[i], &o.contenders[k]
		if err := o.one(r); err != nil {
			return fmt.Errorf("%s with %s: %w%s", r.scenario.Name, r.contender.name, err, laneHint(r))
		}
		mu.Lock()
		defer mu.Unlock()
		done++
		fmt.Fprintf(stderr, "%d/%d %s with %s\n", done, len(results), r.scenario.Name, r.contender.name)
		return nil
	}
	if !o.oracle {
		return results, parallel(len(results), func(j int) error { return one(j/n, j%n) })
	}
	for k := range n { // one by one, since they may have oracles in common, which are kept
		if err := parallel(len(o.scenarios), func(i int) error { return one(i, k) }); err != nil {
			return nil, err
		}
	}
	return results, nil
}

func (o *options) one(r *result) error {
	for k := range o.seeds {
		report, err := r.contender.run(o.front, r.scenario.Seeded(k))
		if err != nil {
			return err
		}
		r.reports = append(r.reports, report)
	}
	if !o.oracle {
		return nil
	}
	oracle, err := o.front.Oracle(r.contender.config, r.scenario, o.seeds)
	r.oracle = &oracle
	return err
}

// parallel calls do with 0 to n-1 on all cores and joins the errors.
func parallel(n int, do func(int) error) error {
	errs := make([]error, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}
