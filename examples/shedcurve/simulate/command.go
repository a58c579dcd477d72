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
	"github.com/spillway-go/spillway/admission/sim/peers"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Main runs the command with its arguments, those after "sim", and returns its
// exit status: 2 for wrong arguments, 1 for a run or a file that failed. It
// writes results to stdout, errors and progress to stderr.
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
	if len(o.rivals) > 0 {
		all, err := o.standings(stderr)
		switch {
		case err != nil:
			return err
		case o.json:
			return writeJSON(stdout, all)
		}
		return writeStandings(stdout, all)
	}
	results, err := o.simulate(stderr)
	if err != nil {
		return err
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
	return err
}

func writeJSON(w io.Writer, rows any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(rows)
}

// result is all runs of one scenario.
type result struct {
	scenario sim.Scenario
	reports  []sim.Report // by seed
	oracle   *sim.Oracle
}

// simulate runs everything on all cores.
func (o *options) simulate(stderr io.Writer) ([]result, error) {
	results := make([]result, len(o.scenarios))
	var mu sync.Mutex // of done and stderr
	done := 0
	err := parallel(len(results), func(i int) error {
		r := &results[i]
		r.scenario = o.scenarios[i]
		if err := o.one(r); err != nil {
			return fmt.Errorf("%s: %w", r.scenario.Name, err)
		}
		mu.Lock()
		defer mu.Unlock()
		done++
		fmt.Fprintf(stderr, "%d/%d %s\n", done, len(results), r.scenario.Name)
		return nil
	})
	return results, err
}

func (o *options) one(r *result) error {
	for k := range o.seeds {
		report, err := o.once(r.scenario.Seeded(k))
		if err != nil {
			return err
		}
		r.reports = append(r.reports, report)
	}
	if !o.oracle {
		return nil
	}
	oracle, err := o.front.Oracle(o.config, r.scenario, o.seeds)
	r.oracle = &oracle
	return err
}

// once runs a scenario with the law of the options.
func (o *options) once(s sim.Scenario) (sim.Report, error) {
	if o.peer == "" {
		return o.front.Run(o.config, s)
	}
	law, err := peers.New(o.peer)
	if err != nil {
		return sim.Report{}, err
	}
	return o.front.RunLaw(o.config, s, law)
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
