package simulate

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/sim"
	"github.com/spillway-go/spillway/examples/shedcurve/report"
)

// options is what the flags say.
type options struct {
	scenarios  []sim.Scenario
	contenders []contender // at least one
	laws       bool        // they are all the laws of the limit
	front      sim.Front
	seeds      int
	oracle     bool
	json       bool
	out        string
	required   []requirement
	against    *report.Report // a measured curve to compare with; or nil
}

// maxSeeds bounds the runs of a scenario.
const maxSeeds = 1000

const helpText = `Usage of shedcurve sim:

Runs scenarios in virtual time. With several -config all meet the same requests, and -out draws them side by side:

  shedcurve sim -scenario FILE -config now.yaml -config new.yaml -out FOLDER

A scenario is JSON, see admission/sim/testdata/README.md, or a request log that ends in .csv, see go doc
./admission/sim ParseLog.

The table has a line for each scenario and config. Among its columns are

  of could %  goodput as a share of what could have been answered
  shed %      attempts that were refused
  gate %      mean of the gate's shed ratio, and sd %, how much it varies
  inv %       answers that better tiers should have had
  top %       what t0 and t1 lack of the answers that they should have had
  died %      attempts that waited in vain
  t0 % ...    the tier's requests that were answered in time

and below it, for several scenarios, how some of these are spread over them, for each config by itself.

With -against the loads of a measured curve are simulated, and both are shown at each load and in one picture:

  shedcurve sim -scenario shedcurve.scenario.json -against shedcurve.json -out FOLDER

With -require every config must meet every term in every scenario, in the mean of the runs; what is not met is told
and the exit status is 1, for a CI to guard a change of the config:

  shedcurve sim -scenario FILE -config new.yaml -require 'goodput>=0.95 t1>=99% p99<=50ms'

`

func parse(args []string, stderr io.Writer) (options, error) {
	fs := flag.NewFlagSet("shedcurve sim", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, helpText, requireHelp(), "\n")
		fs.PrintDefaults()
	}
	var configs []string
	scenario := fs.String("scenario", "", "scenario or request log `FILE`, or a folder of scenarios")
	fs.Func("config", "YAML or JSON `FILE` with the config to try; without it the defaults; may be repeated",
		func(path string) error { configs = append(configs, path); return nil })
	lane := fs.String("lane", "", "`name` of the lane to simulate, of the config and of the log; empty: the scenario's, which is default unless it says")
	limit := fs.Int("limit", 0, "pin the limit to `N`; 0: the config's")
	law := fs.String("law", "", "limit's `law`: octave, aimd, gradient2 or vegas; one of the peers cinnamon, envoy, failsafe or static20; or all, to compare; empty: the config's")
	gate := fs.String("gate", "", "gate's `law`: ff, pid or off; empty: the config's")
	front := fs.String("front", "full", "`what` stands before the limit: full, or lab to compare laws of the limit alone")
	require := fs.String("require", "", "`terms` that must hold, see above")
	against := fs.String("against", "", "shedcurve.json `FILE` of a load test: simulate its loads, and compare")
	var o options
	fs.IntVar(&o.seeds, "seeds", 4, "`N` runs of each scenario")
	fs.BoolVar(&o.oracle, "oracle", false, "compare with the best fixed limit; takes minutes where it is not known yet")
	fs.BoolVar(&o.json, "json", false, "write JSON")
	fs.StringVar(&o.out, "out", "", "also draw curves and traces into `FOLDER`")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	var errs []error
	bad := func(flag string, value any, rule string) {
		errs = append(errs, fmt.Errorf("-%s is %v: %s", flag, value, rule))
	}
	if fs.NArg() > 0 {
		errs = append(errs, fmt.Errorf("unexpected argument %q", fs.Arg(0)))
	}
	if o.seeds < 1 || o.seeds > maxSeeds {
		bad("seeds", o.seeds, fmt.Sprintf("must be between 1 and %d", maxSeeds))
	}
	switch *front {
	case "lab":
		o.front = sim.Lab
	case "full":
	default:
		bad("front", fmt.Sprintf("%q", *front), "must be full or lab")
	}
	var err error
	if o.scenarios, err = scenarios(*scenario); err != nil {
		errs = append(errs, err)
	}
	if *lane != "" {
		for i := range o.scenarios {
			o.scenarios[i].Lane = *lane
		}
	}
	if o.contenders, err = readConfigs(configs); err != nil {
		errs = append(errs, err)
	}
	if o.required, err = parseRequirements(*require); err != nil {
		errs = append(errs, err)
	} else if len(o.required) == 0 && given(fs, "require") {
		bad("require", fmt.Sprintf("%q", *require), "must have a term, such as goodput>=0.95")
	}
	if needOracle(o.required) && !o.oracle {
		bad("require", fmt.Sprintf("%q", *require), "regret needs -oracle")
	}
	if *law != "" && *limit != 0 {
		bad("limit", *limit, "cannot be together with -law")
	}
	if *law == "all" {
		if o.out != "" {
			bad("out", o.out, "cannot be together with -law all")
		}
		if *require != "" {
			bad("require", fmt.Sprintf("%q", *require), "cannot be together with -law all")
		}
		if len(configs) > 1 {
			bad("config", fmt.Sprintf("%q", configs), "must be one with -law all")
		}
	}
	lanes := lanesOf(o.scenarios)
	for i := range o.contenders {
		c := &o.contenders[i]
		if *limit != 0 {
			c.change(lanes, func(l *admission.LaneConfig) { l.Limit = admission.LimitConfig{Fixed: *limit} })
		}
		if *gate != "" {
			c.change(lanes, func(l *admission.LaneConfig) { l.Gate.Law = *gate })
		}
	}
	switch {
	case *law == "all" && len(o.contenders) > 0:
		o.laws, o.oracle = true, true
		one := o.contenders[0]
		o.contenders = nil
		for _, law := range allLaws() {
			c := one.with(lanes, law)
			c.name = law
			o.contenders = append(o.contenders, c)
		}
	case *law != "":
		for i, c := range o.contenders {
			o.contenders[i] = c.with(lanes, *law)
		}
	}
	if *against != "" {
		if r, err := readReport(*against); err != nil {
			errs = append(errs, err)
		} else {
			o.against = &r
			if err := o.checkAgainst(*require); err != nil && len(errs) == 0 {
				errs = append(errs, err)
			}
		}
	}
	for _, c := range o.contenders {
		if err := c.config.Validate(); err != nil {
			errs = append(errs, err)
			break // the others of -law all have the same
		}
	}
	return o, errors.Join(errs...)
}

// given tells whether a flag was.
func given(fs *flag.FlagSet, name string) (is bool) {
	fs.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}

// lanesOf are those that the scenarios simulate.
func lanesOf(all []sim.Scenario) (lanes []string) {
	for _, s := range all {
		lanes = append(lanes, cmp.Or(s.Lane, "default"))
	}
	slices.Sort(lanes)
	return slices.Compact(lanes)
}

func scenarios(path string) ([]sim.Scenario, error) {
	if path == "" {
		return nil, errors.New("-scenario is missing: must be a file or a folder")
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("-scenario: %w", err)
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*.json")); err != nil || len(files) == 0 {
			return nil, fmt.Errorf("-scenario is %s: has no .json files", path)
		}
	}
	var all []sim.Scenario
	var errs []error
	for _, f := range files {
		s, err := sim.Load(f)
		all, errs = append(all, s), append(errs, err)
	}
	return all, errors.Join(errs...)
}
