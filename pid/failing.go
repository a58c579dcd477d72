package pid

import "time"

// failing tells whether overload outweighs success by a margin no accident
// explains, and fewer slots would change anything: requests that ran one at a
// time did not fail for being too many. Half of one request a second would
// otherwise take the limit to its floor and rest there.
func (o *Octave) failing(el float64, u Usage) bool {
	need := 8
	if o.limit <= o.cfg.Min {
		need = 3
	}
	return o.win.bad > o.win.n && o.win.bad >= need && el >= max(0.25, 2.5*o.mean) &&
		(o.win.maxIn > 1 || o.win.blocked(u))
}

// rest is a pause of all grants, for a back end that fails even at the floor.
type rest struct {
	pause time.Duration
	until time.Duration
}

// retreat lowers the limit by what failed; at the floor it pauses grants for a
// second, doubling to ten while nothing gets better.
func (o *Octave) retreat(now time.Duration, u Usage) {
	o.state.Why = "cut: more overload than success"
	if o.lnL <= o.floor() {
		o.rest.pause = min(max(2*o.rest.pause, time.Second), 10*time.Second)
		o.rest.until = now + o.rest.pause
		o.state.Why = "rest: failing at the floor"
	}
	o.setLn(o.lnL - 0.5*o.win.failed())
	o.trial.abort()
	o.probe.excess, o.cut, o.grow = 0, 0, false
	o.limit = o.round()
	o.win.reset(now, u)
}
