package core

import (
	"math"
	"time"
)

// costs learns what the operations of a lane cost: their service times over the
// lane's median. A full scan then takes as many slots as the point reads that fit
// into its time.
//
// An operation's mean is arithmetic, for slots are taken for all of the time, and
// slow: it follows the last costMemory successes. Costs are whole slots, from 1 to
// most; one changes only when it is off by more than costSlack, so that it does
// not jump to and fro at a half.
type costs struct {
	most int // 0: nothing is learned
	ops  map[string]*opCost
}

type opCost struct {
	mean    float64 // seconds
	samples float64 // up to costMemory
	cost    int
}

const (
	maxOps     = 256 // further operations cost 1: who invents them gains nothing but that
	costMemory = 64
	costNeeded = 8 // samples before one has a cost
	costSlack  = 0.65
)

// done takes in a success.
func (c *costs) done(op string, service time.Duration) {
	if c.most == 0 {
		return
	}
	o := c.ops[op]
	if o == nil {
		if len(c.ops) >= maxOps {
			return
		}
		if c.ops == nil {
			c.ops = map[string]*opCost{}
		}
		o = &opCost{cost: 1}
		c.ops[op] = o
	}
	o.samples = min(o.samples+1, costMemory)
	o.mean += (service.Seconds() - o.mean) / o.samples
}

// settle makes the costs anew for the lane's median, and tells whether one is
// another.
func (c *costs) settle(median time.Duration) (changed bool) {
	if median <= 0 {
		return false
	}
	for _, o := range c.ops {
		want := min(max(o.mean/median.Seconds(), 1), float64(c.most))
		if o.samples >= costNeeded && math.Abs(want-float64(o.cost)) > costSlack {
			o.cost, changed = int(math.Round(want)), true
		}
	}
	return changed
}

// Costs are the learned costs above 1, by operation; nil for none. The map is the
// caller's, and only made when changed tells that it is another than at the call
// before.
func (l *Lane) Costs() (costs map[string]int, changed bool) {
	changed, l.costsChanged = l.costsChanged, false
	if !changed {
		return nil, false
	}
	for op, o := range l.costs.ops {
		if o.cost > 1 {
			if costs == nil {
				costs = map[string]int{}
			}
			costs[op] = o.cost
		}
	}
	return costs, true
}

// learn follows the config: what was learned is forgotten when it is switched off.
func (l *Lane) learn(most int) {
	if most == 0 && len(l.costs.ops) > 0 {
		l.costs.ops, l.costsChanged = nil, true
	}
	l.costs.most = most
	l.costsChanged = l.costs.settle(l.tick.median) || l.costsChanged
}
