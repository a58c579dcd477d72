package admission

// enterStages asks the user's stages. On refusal, and on a panic, those
// entered before are left again and everything taken is given back by undo.
func (c *Controller) enterStages(a *ask, r Request) (shed *ShedError, cause error) {
	l := a.lane
	l.mu.Lock()
	a.e = l.takeLocked(c)
	l.mu.Unlock()
	e := a.e
	e.request, e.entered, e.plan = r, 0, a.plan
	finished := false
	defer func() {
		if !finished {
			c.undo(a)
		}
	}()
	load := l.load(c.start.Add(c.now()))
	for _, s := range a.plan.stages {
		if err := s.stage.Enter(load, &e.request); err != nil {
			shed = s.errs.wrap(l, s.name, err, a.rank, r.Attempt)
			finished = true
			return shed, err
		}
		e.entered++
	}
	finished = true
	return nil, nil
}

// exitStages leaves the stages that were entered, last first. Each is left
// even when another one's Exit panics.
func (c *Controller) exitStages(e *entry, p *plan, o Outcome) {
	if e.entered == 0 {
		e.request = Request{}
		return
	}
	load := e.lane.load(c.start.Add(c.now()))
	defer func() {
		if e.entered > 0 { // a panic passes through
			c.exitStages(e, p, o)
		}
	}()
	for e.entered > 0 {
		e.entered--
		p.stages[e.entered].stage.Exit(load, &e.request, o)
	}
	e.request = Request{}
}
