package simulate

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/configfile"
	"github.com/spillway-go/spillway/admission/sim"
	"github.com/spillway-go/spillway/admission/sim/peers"
	"github.com/spillway-go/spillway/examples/shedcurve/report"
)

// contender is a config that meets the scenarios.
type contender struct {
	name   string
	config admission.Config
	peer   string // law of package peers, in place of the config's; or empty
}

// defaultsName is what the config without a file is called.
const defaultsName = "defaults"

// readConfigs reads config files; without any it is the zero config. They are called
// by their files' names, or by their paths where those are the same.
func readConfigs(paths []string) ([]contender, error) {
	if len(paths) == 0 {
		return []contender{{name: defaultsName}}, nil
	}
	taken := map[string]int{report.ArmOff: 1, report.ArmOn: 1, report.ArmTarget: 1}
	for _, path := range paths {
		taken[filepath.Base(path)]++
	}
	var all []contender
	var errs []error
	for i, path := range paths {
		if slices.Contains(paths[:i], path) {
			errs = append(errs, fmt.Errorf("-config is %s: must be given once", path))
			continue
		}
		c := contender{name: filepath.Base(path)}
		if taken[c.name] > 1 {
			c.name = path
		}
		var err error
		if c.config, err = configfile.Load(path); err != nil {
			errs = append(errs, fmt.Errorf("-config: %w", err))
		}
		all = append(all, c)
	}
	return all, errors.Join(errs...)
}

// change edits those of the lanes that the config has. One without any has the default
// lane; of others a run says that they are missing.
func (c *contender) change(lanes []string, edit func(*admission.LaneConfig)) {
	all := maps.Clone(c.config.Lanes)
	if len(all) == 0 {
		all = map[string]admission.LaneConfig{"default": {}}
	}
	for _, name := range lanes {
		if _, unnamed := all[""]; unnamed && name == "default" {
			name = ""
		}
		if l, ok := all[name]; ok {
			edit(&l)
			all[name] = l
		}
	}
	c.config.Lanes = all
}

// with returns the contender with a law of the limit.
func (c contender) with(lanes []string, law string) contender {
	if slices.Contains(peers.Names(), law) {
		c.peer = law
	} else {
		c.change(lanes, func(l *admission.LaneConfig) { l.Limit.Law = law })
	}
	return c
}

// run simulates a scenario.
func (c *contender) run(front sim.Front, s sim.Scenario) (sim.Report, error) {
	if c.peer == "" {
		return front.Run(c.config, s)
	}
	law, err := peers.New(c.peer)
	if err != nil {
		return sim.Report{}, err
	}
	return front.RunLaw(c.config, s, law)
}
