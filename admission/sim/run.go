package sim

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/codel"
	"github.com/spillway-go/spillway/pid"
)

// Front is what stands before the limit in a run.
type Front uint8

const (
	// Full is the whole lane: what the controller checks before it, its gate,
	// its queue.
	Full Front = iota
	// Lab is the limit alone, as its laws are compared: the queue holds as many
	// as the limit and at least 8, its allowance is that of [codel.LawTight],
	// nothing is shed before it, and the law knows the clients' deadline unless
	// the lane declares one.
	Lab
)

// String is "full" or "lab".
func (f Front) String() string {
	if f == Lab {
		return "lab"
	}
	return "full"
}

// Run simulates s in front of its lane of cfg; it is Full.Run.
func Run(cfg admission.Config, s Scenario) (Report, error) { return Full.Run(cfg, s) }

// The bound of a lab's queue; see [Lab].
const (
	labBound   = 8
	labPerSlot = 1
)

// defaultLane is what a lane without a name is called.
const defaultLane = "default"

// laneOf is the lane of cfg that s is to meet, with the name that cfg has it under.
// A config that names no lanes has the default one. One that has others only is
// not taken to mean a default lane besides, though a controller would have it.
func laneOf(cfg admission.Config, s *Scenario) (name string, l admission.LaneConfig, err error) {
	name = cmp.Or(s.Lane, defaultLane)
	if name == defaultLane {
		if l, ok := cfg.Lanes[""]; ok {
			return "", l, nil
		}
	}
	l, ok := cfg.Lanes[name]
	if !ok && (len(cfg.Lanes) > 0 || name != defaultLane) {
		has := sortedKeys(cfg.Lanes)
		if len(has) == 0 {
			has = []string{defaultLane}
		}
		return name, l, fmt.Errorf("sim: lane is %q: must be one of the config's, %q", name, has)
	}
	return name, l, nil
}

// coreOf is what the lane itself goes by.
func coreOf(l admission.LaneConfig) core.Config {
	return core.Config{Limit: l.Limit, Queue: l.Queue, Gate: l.Gate, Deadline: l.Deadline, MaxCost: l.MaxCost}
}

// unlimited is the limit of a lane that is off.
const unlimited = 1_000_000

// Run simulates s in front of its lane of cfg. Mode off runs without lane, mode
// shadow lets everything run and counts what would have been shed. What
// [admission.Config.Validate] and [Scenario.Validate] find is an error. It
// blocks until the run is over, about a second for a million requests, and
// starts no goroutine; several runs may go on at once.
func (f Front) Run(cfg admission.Config, s Scenario) (Report, error) {
	return f.RunLaw(cfg, s, nil)
}

// RunLaw is Run with a law of the limit of the caller's in place of the one that
// the config names, as [admission.WithLimit] brings one in. It must be a new
// one for each run, and called by nobody else meanwhile; nil: the config's. Mode
// off has no limit: law is then not used.
func (f Front) RunLaw(cfg admission.Config, s Scenario, law pid.Limit) (Report, error) {
	err := errors.Join(cfg.Validate(), s.Validate())
	if err != nil {
		return Report{}, err
	}
	name, lc, err := laneOf(cfg, &s)
	off := max(cfg.Mode, lc.Mode) == admission.Off
	if err != nil && !off {
		return Report{}, err
	}
	if s.Requests, err = ofLane(s.Requests, s.Lane); err != nil {
		return Report{}, err
	}
	if !off {
		lc = admission.Config{Lanes: map[string]admission.LaneConfig{name: lc}}.WithDefaults().Lanes[cmp.Or(name, defaultLane)]
	}
	switch {
	case off:
		law = nil
		lc = admission.LaneConfig{Limit: pid.LimitConfig{Fixed: unlimited}, Gate: pid.GateConfig{Law: "off"}}
	case f == Lab:
		lc.Queue, lc.Gate.Law = codel.Config{Law: codel.LawTight}, "off"
		if lc.Deadline == 0 {
			lc.Deadline = s.patience()
		}
	}
	lane, err := core.New(coreOf(lc), law)
	if err != nil {
		return Report{}, err
	}
	if f == Lab {
		lane.SetBound(labBound, labPerSlot)
	}
	e := newEngine(s, lane, f == Lab || off)
	e.ghosts = max(cfg.Mode, lc.Mode) == admission.Shadow
	e.run()
	e.tally.would(lane)
	return e.tally.report(&s), nil
}
