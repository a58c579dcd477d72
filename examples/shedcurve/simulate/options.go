package simulate

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/configfile"
	"github.com/spillway-go/spillway/admission/sim"
	"github.com/spillway-go/spillway/admission/sim/peers"
)

// options is what the flags say.
type options struct {
	scenarios []sim.Scenario
	config    admission.Config
	front     sim.Front
	peer      string    // of package peers, in place of the config's law; or empty
	rivals    []options // these, one for each law, instead of this one
	seeds     int
	oracle    bool
	json      bool
	out       string
}

// maxSeeds bounds the runs of a scenario.
const maxSeeds = 1000

func parse(args []string, stderr io.Writer) (options, error) {
	fs := flag.NewFlagSet("shedcurve sim", flag.ContinueOnError)
	fs.SetOutput(stderr)
	scenario := fs.String("scenario", "", "scenario `FILE`, or a folder of them")
	config := fs.String("config", "", "YAML or JSON `FILE` with the config to try; without it the defaults")
	limit := fs.Int("limit", 0, "pin the limit to `N`; 0: the config's")
	law := fs.String("law", "", "limit's `law`: octave, aimd, gradient2 or vegas; one of the peers cinnamon, envoy, failsafe or static20; or all, to compare; empty: the config's")
	gate := fs.String("gate", "", "gate's `law`: ff, pid or off; empty: the config's")
	front := fs.String("front", "full", "`what` stands before the limit: full, or lab to compare laws of the limit alone")
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
	if o.config, err = readConfig(*config); err != nil {
		errs = append(errs, err)
	}
	if *limit != 0 {
		o.change(func(l *admission.LaneConfig) { l.Limit = admission.LimitConfig{Fixed: *limit} })
	}
	if *gate != "" {
		o.change(func(l *admission.LaneConfig) { l.Gate.Law = *gate })
	}
	if *law != "" && *limit != 0 {
		bad("limit", *limit, "cannot be together with -law")
	}
	if *law == "all" {
		if o.out != "" {
			bad("out", o.out, "cannot be together with -law all")
		}
		o.compare()
	} else if *law != "" {
		o = o.with(*law)
	}
	if err := o.config.Validate(); err != nil {
		errs = append(errs, err)
	}
	return o, errors.Join(errs...)
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

// readConfig reads a config file; the zero config without a path.
func readConfig(path string) (admission.Config, error) {
	if path == "" {
		return admission.Config{}, nil
	}
	cfg, err := configfile.Load(path)
	if err != nil {
		return cfg, fmt.Errorf("-config: %w", err)
	}
	return cfg, nil
}

// change edits the config's lane.
func (o *options) change(edit func(*admission.LaneConfig)) {
	lanes := maps.Clone(o.config.Lanes)
	if lanes == nil {
		lanes = map[string]admission.LaneConfig{}
	}
	name := "default"
	if _, unnamed := lanes[""]; unnamed {
		name = ""
	}
	lane := lanes[name]
	edit(&lane)
	lanes[name] = lane
	o.config.Lanes = lanes
}

// with returns the options for a law of the limit.
func (o *options) with(law string) options {
	one := *o
	if slices.Contains(peers.Names(), law) {
		one.peer = law
	} else {
		one.change(func(l *admission.LaneConfig) { l.Limit.Law = law })
	}
	return one
}
