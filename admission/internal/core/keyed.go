package core

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// Keyed is the regulator of many pressures, each that of one actor: a tenant, a
// caller or a key. Who is above the setpoint is taken in and has a [Signal] of
// his own; who has calmed down is let go. It is not safe for concurrent use, the
// actors it hands out are.
type Keyed struct {
	cfg    SignalConfig
	actors map[string]*Actor
	over   int
}

// MaxActors bounds how many are regulated at once.
const MaxActors = 1024

// Pressures is a reading of a keyed signal, narrowed to whom it concerns; who is
// not in it is under no pressure.
type Pressures struct {
	Of   map[string]float64
	Over int // left out though they are above the setpoint
	Bad  int // left out since theirs are none
}

// Narrow makes a reading of all of a signal's pressures: a copy of those who are
// regulated and of the worst above the setpoint, as many as could be. It keeps what
// the loop has to do bounded, and may itself take long.
func Narrow(all map[string]float64, setpoint float64, actors map[string]*Actor) Pressures {
	r := Pressures{Of: make(map[string]float64, len(actors))}
	var fresh []string
	for name, p := range all {
		switch {
		case !ValidPressure(p):
			r.Bad++
		case actors[name] != nil:
			r.Of[name] = p
		case p > setpoint:
			if fresh = append(fresh, name); len(fresh) == 4*MaxActors {
				var over int
				fresh, over = worst(fresh, all, MaxActors)
				r.Over += over
			}
		}
	}
	fresh, over := worst(fresh, all, MaxActors)
	r.Over += over
	for _, name := range fresh {
		r.Of[name] = all[name]
	}
	return r
}

// worst keeps n of the names, those under the highest pressure, and tells how many
// it left out.
func worst(names []string, pressures map[string]float64, n int) (kept []string, over int) {
	if len(names) <= n {
		return names, 0
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(pressures[b], pressures[a]), cmp.Compare(a, b))
	})
	return names[:n], len(names) - n
}

// NewKeyed returns a regulator of nobody.
func NewKeyed(cfg SignalConfig) (*Keyed, error) {
	if err := cfg.pid().Validate(); err != nil {
		return nil, err
	}
	return &Keyed{cfg: cfg, actors: map[string]*Actor{}}, nil
}

// SetConfig changes what is held, and how fast, while it runs; ratios stay. An
// invalid cfg is refused, and nothing changes.
func (k *Keyed) SetConfig(cfg SignalConfig) error {
	if err := cfg.pid().Validate(); err != nil {
		return err
	}
	k.cfg = cfg
	for _, a := range k.actors {
		if err := a.signal.SetConfig(cfg); err != nil {
			return err
		}
	}
	return nil
}

// Step takes in a reading, dt after the last one, and tells whether actors came
// or went. Where more are above the setpoint than there is room for, those under
// the highest pressure come in.
func (k *Keyed) Step(reading Pressures, dt time.Duration) (changed bool) {
	pressures := reading.Of
	for name, a := range k.actors {
		a.step(pressures[name], dt)
		if a.Ratio() == 0 && a.pressure <= k.cfg.Setpoint {
			delete(k.actors, name)
			changed = true
		}
	}
	var fresh []string
	for name, p := range pressures {
		if p > k.cfg.Setpoint && k.actors[name] == nil {
			fresh = append(fresh, name)
		}
	}
	fresh, over := worst(fresh, pressures, MaxActors-len(k.actors))
	k.over = reading.Over + over
	for _, name := range fresh {
		s, err := NewSignal(k.cfg)
		if err != nil { // cannot be: its config was validated
			continue
		}
		a := &Actor{signal: s}
		a.step(pressures[name], dt)
		k.actors[name] = a
	}
	return changed || len(fresh) > 0
}

// Reset lets everybody go: there is no reading.
func (k *Keyed) Reset() (changed bool) {
	changed, k.over = len(k.actors) > 0, 0
	clear(k.actors)
	return changed
}

// Actors is a copy of who is regulated; nil for nobody.
func (k *Keyed) Actors() map[string]*Actor {
	if len(k.actors) == 0 {
		return nil
	}
	return maps.Clone(k.actors)
}

// Over is how many more were above the setpoint at the last step than there was
// room for.
func (k *Keyed) Over() int { return k.over }

// Actor is one that a keyed signal presses. Its worst tiers are shed first, and
// at the boundary a hash decides, as in the gate.
type Actor struct {
	signal   *Signal
	pressure float64
	tiers    [NumTiers]float64 // offered lately
	lull     time.Duration     // since he came

	offered [NumTiers]atomic.Uint32 // since the last step
	cut     atomic.Uint64           // boundary tier, and the hash below which it is shed
}

// actorMemory is the time constant, in seconds, of what an actor has offered
// lately: some periods, since the mix of one actor changes faster than that of
// a lane.
const actorMemory = 3

const noCut = uint64(NumTiers) << 32

func (a *Actor) step(pressure float64, dt time.Duration) {
	a.pressure = pressure
	a.lull += dt
	keep, total := math.Exp(-max(dt.Seconds(), 0)/actorMemory), 0.0
	for t := range a.tiers {
		n := a.offered[t].Swap(0)
		if n > 0 {
			a.lull = 0
		}
		a.tiers[t] = a.tiers[t]*keep + float64(n)
		total += a.tiers[t]
	}
	if a.lull > Lull {
		a.signal.Rest(pressure, 0, dt)
	} else {
		a.signal.Step(pressure, 0, dt)
	}
	a.cut.Store(a.aim(a.Ratio(), total))
}

// aim is the threshold at which the ratio of what was offered is shed. Until
// something was counted, for one period, it is nobody's: a ratio of an unknown
// mix would shed good tiers with the bad.
func (a *Actor) aim(ratio, total float64) uint64 {
	if ratio == 0 || total == 0 {
		return noCut
	}
	shed := ratio * total
	for t := NumTiers - 1; t >= 0; t-- {
		if n := a.tiers[t]; shed < n {
			return uint64(t)<<32 | uint64(cutAt(shed/n*hashBuckets))
		}
		shed -= a.tiers[t]
	}
	return uint64(math.MaxUint32) // cannot be while ratio is below 1: all of t0
}

// Sheds counts a request of the actor's and tells whether it is shed. It is safe
// for concurrent use.
func (a *Actor) Sheds(tier int, hash uint32) bool {
	a.offered[tier].Add(1)
	return a.threshold().sheds(tier, hash)
}

// Foresee tells what Sheds would, and the share of the tier's requests that is
// shed; it counts nothing.
func (a *Actor) Foresee(tier int, hash uint32) (shed bool, share float64) {
	t := a.threshold()
	return t.sheds(tier, hash), t.share(tier)
}

// threshold is over tiers here, not ranks.
func (a *Actor) threshold() threshold {
	cut := a.cut.Load()
	return threshold{int(cut >> 32), uint32(cut)}
}

// Pressure is the actor's last reading.
func (a *Actor) Pressure() float64 { return a.pressure }

// Ratio is what is shed of the actor.
func (a *Actor) Ratio() float64 { return a.signal.Ratio() }
