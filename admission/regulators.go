package admission

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spillway-go/spillway/regulators"
)

// source is what a regulator's name stands for: one of the three, brought in by
// an option or built of a kind.
type source struct {
	signal regulators.Signal
	keyed  regulators.KeyedSignal
	guard  regulators.Guard
}

// regulator is what lives on from config to config: the poller with its last
// reading and the PID's integrator, or the guard with what it holds.
type regulator struct {
	made   RegulatorConfig // its kind was built with it
	signal *signal
	keyed  *keyed
	guard  *guard
}

// binding is how a plan binds a regulator.
type binding struct {
	cfg    RegulatorConfig
	by     string  // whose name a keyed signal or a guard is told
	counts string  // what a guard counts
	lanes  []*lane // empty: all
	errs   laneErrors
}

func (b *binding) binds(l *lane) bool { return len(b.lanes) == 0 || slices.Contains(b.lanes, l) }

type boundSignal struct {
	binding
	*signal
}

type boundKeyed struct {
	binding
	*keyed
}

type boundGuard struct {
	binding
	*guard
	refusal Reason // of an error that says none of its own
}

// regulate makes the plan's regulators; those that the controller has are taken
// over. Nothing is started or ended yet, see [Controller.runRegulators].
func (c *Controller) regulate(p *plan) (map[string]*regulator, error) {
	configs := maps.Clone(p.cfg.Regulators)
	for name := range c.opts.sources {
		if _, ok := configs[name]; !ok {
			configs[name] = RegulatorConfig{}.withDefaults()
		}
	}
	all := make(map[string]*regulator, len(configs))
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		rc := configs[name]
		r := c.mu.regulators[name]
		if r == nil || !r.made.sameKind(rc) {
			var err error
			if r, err = c.newRegulator(name, rc); err != nil {
				return nil, err
			}
		}
		all[name] = r
		b := binding{cfg: rc, by: rc.By, counts: rc.Counts, errs: newLaneErrors(p)}
		for _, l := range rc.Lanes {
			b.lanes = append(b.lanes, p.lanes[laneName(l)])
		}
		switch {
		case r.signal != nil:
			p.signals = append(p.signals, boundSignal{b, r.signal})
		case r.keyed != nil:
			if b.by == "" {
				b.by = byTenant
			}
			p.keyed = append(p.keyed, boundKeyed{b, r.keyed})
		default:
			why := ReasonRegulator
			if b.by != "" {
				why = ReasonKeyed
			}
			p.guards = append(p.guards, boundGuard{b, r.guard, why})
		}
	}
	return all, nil
}

func (c *Controller) newRegulator(name string, rc RegulatorConfig) (*regulator, error) {
	r := &regulator{made: rc}
	src, ok := c.opts.sources[name]
	if !ok {
		var err error
		if src, err = kinds[rc.Kind].build(rc); err != nil {
			return nil, fmt.Errorf("admission: regulators[%q]: %w", name, err)
		}
	}
	var err error
	switch {
	case src.signal != nil:
		r.signal, err = c.newSignal(name, src.signal, rc)
	case src.keyed != nil:
		r.keyed, err = c.newKeyed(name, src.keyed, rc)
	default:
		r.guard = &guard{name: name, source: src.guard}
	}
	return r, err
}

// poller is nil of a guard.
func (r *regulator) poller() *poller {
	switch {
	case r.signal != nil:
		return r.signal.poller
	case r.keyed != nil:
		return r.keyed.poller
	}
	return nil
}

// runRegulators starts those that are new, has the others follow their config, and
// ends those that are no more. The caller holds c.mu and has made the plan theirs.
func (c *Controller) runRegulators(p *plan, all map[string]*regulator) {
	for name, r := range c.mu.regulators {
		if poller := r.poller(); poller != nil && all[name] != r {
			poller.cancel()
		}
	}
	// One that is ending is still Close's to wait for.
	c.mu.pollers = slices.DeleteFunc(c.mu.pollers, (*poller).over)
	for name, r := range all {
		switch poller := r.poller(); {
		case poller == nil:
		case c.mu.regulators[name] == r:
			poller.retime(p.regulator(name))
		default:
			poller.start()
			c.mu.pollers = append(c.mu.pollers, poller)
		}
	}
	c.mu.regulators = all
}

// regulator is a name's config in force.
func (p *plan) regulator(name string) RegulatorConfig {
	if rc, ok := p.cfg.Regulators[name]; ok {
		return rc
	}
	return RegulatorConfig{}.withDefaults()
}
