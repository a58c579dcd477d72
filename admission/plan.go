package admission

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/scorecard"
)

// plan is a config made ready for the request's way; immutable.
type plan struct {
	cfg     Config
	def     *lane
	lanes   map[string]*lane
	ruled   bool // the scorecard has rules
	plain   bool // and nothing but them comes before the gate, nor is one in shadow
	closed  bool // by Close, for good
	stages  []namedStage
	keyed   []boundKeyed
	guards  []boundGuard
	signals []boundSignal // the loop's

	callers  map[string]Priority
	prefixes []callerPrefix // longest first
}

type namedStage struct {
	name  string
	stage Stage
	lanes []*lane // empty: all
	errs  laneErrors
}

func (s *namedStage) binds(l *lane) bool { return len(s.lanes) == 0 || slices.Contains(s.lanes, l) }

type callerPrefix struct {
	prefix   string
	priority Priority
}

const defaultLane = "default"

func laneName(name string) string {
	if name == "" {
		return defaultLane
	}
	return name
}

// compile makes the plan of a config with defaults; lanes of the plan before
// are taken over. The caller holds c.mu.
func (c *Controller) compile(cfg Config) (*plan, error) {
	p := &plan{
		cfg: cfg, lanes: make(map[string]*lane, len(cfg.Lanes)),
		ruled: len(cfg.Scorecard.Rules) > 0, callers: map[string]Priority{},
	}
	var fresh []*lane
	for name, lc := range cfg.Lanes {
		l := c.existing(name)
		if l == nil {
			k, err := core.New(lc.core(), c.opts.limits[name])
			if err != nil {
				return nil, err
			}
			l = &lane{name: name, forms: formsOf(c.card, name)}
			l.mu.Card, l.mu.core = c.card, k
			l.open.Store(true)
			l.refusals.Store(newRefusals(name, core.RetryMin, ""))
			fresh = append(fresh, l)
		}
		p.lanes[name] = l
	}
	c.mu.lanes = append(slices.Clone(c.mu.lanes), fresh...)
	slices.SortFunc(c.mu.lanes, func(a, b *lane) int { return cmp.Compare(a.name, b.name) })
	p.def = p.lanes[defaultLane]
	for _, s := range c.opts.stages {
		named := namedStage{name: s.Name(), stage: s, errs: newLaneErrors(p)}
		for _, l := range cfg.Stages[named.name].Lanes {
			named.lanes = append(named.lanes, p.lanes[laneName(l)])
		}
		p.stages = append(p.stages, named)
	}
	for name, prio := range cfg.Priorities.Callers {
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			p.prefixes = append(p.prefixes, callerPrefix{prefix, prio})
		} else {
			p.callers[name] = prio
		}
	}
	slices.SortFunc(p.prefixes, func(a, b callerPrefix) int { return len(b.prefix) - len(a.prefix) })
	return p, nil
}

// isPlain is asked once the regulators are bound.
func (p *plan) isPlain() bool {
	inShadow := func(r scorecard.Rule) bool { return r.Shadow }
	return p.ruled && len(p.keyed)+len(p.stages)+len(p.guards) == 0 && !slices.ContainsFunc(p.cfg.Scorecard.Rules, inShadow)
}

func (c *Controller) existing(name string) *lane {
	for _, l := range c.mu.lanes {
		if l.name == name {
			return l
		}
	}
	return nil
}

// lane is nil for a name that is not in the config.
func (p *plan) lane(name string) *lane {
	if name == "" {
		return p.def
	}
	return p.lanes[name]
}

// rank finds a request's place in the order of shedding: its own priority, its
// caller's, or the default; the cohort is that of its tenant.
func (p *plan) rank(r *Request, epoch uint64) int {
	prio := r.Priority
	if prio == 0 {
		prio = p.caller(r.Caller)
	}
	if prio.hasCohort() {
		return prio.rank()
	}
	cohort := NumCohorts / 2
	if r.Tenant != "" {
		cohort = cohortOf(r.Tenant, epoch)
	}
	return int(prio.Tier())*NumCohorts + cohort
}

func (p *plan) caller(name string) Priority {
	if name != "" {
		if prio, ok := p.callers[name]; ok {
			return prio
		}
		for _, c := range p.prefixes {
			if strings.HasPrefix(name, c.prefix) {
				return c.priority
			}
		}
	}
	return p.cfg.Priorities.Default
}
