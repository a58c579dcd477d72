package admission

import "context"

// enterSteps asks the user's stages, then the guards. On refusal, and on a panic,
// those entered before are left again and everything taken is given back by undo.
func (c *Controller) enterSteps(ctx context.Context, a *ask, r *Request) (shed *ShedError, cause error) {
	l := a.lane
	if a.e == nil {
		l.mu.Lock()
		a.e = l.takeLocked(c)
		l.mu.Unlock()
	}
	e := a.e
	e.request, e.cost, e.entered, e.guards, e.plan = *r, a.cost, 0, 0, a.plan
	finished := false
	defer func() {
		if !finished {
			c.undo(a)
		}
	}()
	if len(a.plan.stages) > 0 {
		s, err := c.enterStages(e)
		if err != nil {
			shed, cause = s.errs.wrap(l, s.name, ReasonStage, err, a.rank, r.Attempt), err
		}
	}
	if shed == nil && len(a.plan.guards) > 0 {
		a.now = c.now()
		b, err := c.enterGuards(ctx, a, c.start.Add(a.now))
		if err != nil {
			shed, cause = b.errs.wrap(l, b.name, b.refusal, err, a.rank, r.Attempt), err
		}
	}
	finished = true
	return shed, cause
}

// enterStages returns the stage that refuses and what it said.
func (c *Controller) enterStages(e *entry) (*namedStage, error) {
	load := e.lane.load(c.start.Add(c.now()))
	for i := range e.plan.stages {
		s := &e.plan.stages[i]
		if s.binds(e.lane) {
			if err := s.stage.Enter(load, &e.request); err != nil {
				return s, err
			}
		}
		e.entered++ // or passed over, which the way back does as well
	}
	return nil, nil
}

// exitSteps leaves what was entered, last first. Each stage is left even when
// another one's Exit panics.
func (c *Controller) exitSteps(e *entry, o Outcome) {
	c.exitGuards(e)
	if e.entered > 0 {
		c.exitStages(e, e.lane.load(c.start.Add(c.now())), o)
	}
	e.request = Request{}
}

func (c *Controller) exitStages(e *entry, load Load, o Outcome) {
	defer func() {
		if e.entered > 0 { // a panic passes through
			c.exitStages(e, load, o)
		}
		e.request = Request{}
	}()
	for e.entered > 0 {
		e.entered--
		if s := &e.plan.stages[e.entered]; s.binds(e.lane) {
			s.stage.Exit(load, &e.request, o)
		}
	}
}
