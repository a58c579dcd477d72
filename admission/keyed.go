package admission

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/regulators"
)

// keyed is a pressure for single actors: each above the setpoint is shed by
// himself, and the others feel nothing. On a request's way stands one atomic load
// while nobody is pressed, and one look into an immutable map while somebody is.
type keyed struct {
	*poller
	reading atomic.Pointer[reading[core.Pressures]]
	pressed atomic.Pointer[map[string]*core.Actor] // nil: nobody
	shed    atomic.Uint64
	seen    struct { // what Stats shows
		sync.Mutex
		stats KeyedStats
	}

	pid  *core.Keyed   // the loop's
	last time.Duration // when it was stepped
}

func (c *Controller) newKeyed(name string, source regulators.KeyedSignal, cfg RegulatorConfig) (*keyed, error) {
	pid, err := core.NewKeyed(cfg.signal())
	if err != nil {
		return nil, err
	}
	k := &keyed{poller: newPoller(name, cfg), pid: pid, last: c.now()}
	k.seen.stats = KeyedStats{Name: name, Stale: true}
	k.ask = func(ctx context.Context) error {
		pressures, err := source.Pressures(ctx)
		if err != nil {
			return err
		}
		var actors map[string]*core.Actor
		if pressed := k.pressed.Load(); pressed != nil {
			actors = *pressed
		}
		r := core.Narrow(pressures, k.times.Load().Setpoint, actors)
		k.reading.Store(&reading[core.Pressures]{r, c.now()})
		if r.Bad > 0 {
			return fmt.Errorf("%d of %d pressures are not from 0 to %g", r.Bad, len(pressures), core.MaxPressure)
		}
		return nil
	}
	return k, nil
}

// stepKeyed: without a fresh reading everybody is let go, at once, unless the
// config says that it holds what was asked for.
func (c *Controller) stepKeyed(b *boundKeyed, now time.Duration) {
	k, r := b.keyed, b.reading.Load()
	fresh, changed := r.fresh(now, &b.cfg), false
	_ = k.pid.SetConfig(b.cfg.signal()) // was validated
	if fresh {
		changed = k.pid.Step(r.value, now-k.last)
	} else if !r.held(now, &b.cfg) {
		changed = k.pid.Reset()
	}
	k.last = now
	actors := k.pid.Actors()
	if changed {
		if actors == nil {
			k.pressed.Store(nil)
		} else {
			k.pressed.Store(&actors)
		}
	}
	st := KeyedStats{
		Name: k.name, By: b.by, Setpoint: b.cfg.Setpoint, Stale: !fresh,
		Shadow: b.cfg.Shadow, Pressed: len(actors), Over: k.pid.Over(), Top: topActors(actors),
	}
	if r != nil {
		st.Age = now - r.at
	}
	k.seen.Lock()
	k.seen.stats = st
	k.seen.Unlock()
	k.tellEdge(c.opts.logger, now, fresh)
}

// topActors are those shed most.
func topActors(actors map[string]*core.Actor) []ActorStats {
	var top []ActorStats
	for key, a := range actors {
		top = append(top, ActorStats{Key: key, Pressure: a.Pressure(), Ratio: a.Ratio()})
	}
	slices.SortFunc(top, func(a, b ActorStats) int {
		return cmp.Or(cmp.Compare(b.Ratio, a.Ratio), cmp.Compare(b.Pressure, a.Pressure), cmp.Compare(a.Key, b.Key))
	})
	return slices.Clip(top[:min(len(top), topTenants)])
}

func (k *keyed) stats() KeyedStats {
	k.seen.Lock()
	st := k.seen.stats
	k.seen.Unlock()
	st.Misses, st.Err, st.Shed = k.misses.Load(), k.err(), k.shed.Load()
	return st
}

// errPressed is what becomes of a request whose actor is pressed.
var errPressed error = &ShedError{Reason: ReasonKeyed}

// press asks the keyed signals; it returns the one that sheds the request.
func (c *Controller) press(ctx context.Context, a *ask, r *Request) *boundKeyed {
	var by *boundKeyed
	for i := range a.plan.keyed {
		b := &a.plan.keyed[i]
		actors := b.pressed.Load()
		if actors == nil || !b.binds(a.lane) {
			continue
		}
		// Each counts what it is offered, also of what another sheds.
		actor := (*actors)[actorOf(r, b.by)]
		switch {
		case actor == nil || !actor.Sheds(a.rank/NumCohorts, keyedHash(r, b.by)):
		case b.cfg.Shadow:
			b.shed.Add(1)
			c.tellTrial(ctx, a, r, b.errs.wrap(a.lane, b.name, ReasonKeyed, errPressed, a.rank, r.Attempt), nil)
		case by == nil:
			by = b
		}
	}
	if by != nil {
		by.shed.Add(1)
	}
	return by
}

// actorOf is who a request counts for.
func actorOf(r *Request, by string) string {
	switch by {
	case byTenant:
		return r.Tenant
	case byCaller:
		return r.Caller
	}
	return r.Key
}

// keyedHash decides over a request of a pressed actor. It is another one than the
// gate's, which would otherwise only be offered one end of its hashes. All
// requests about one key have one hash: there chance decides.
func keyedHash(r *Request, by string) uint32 {
	if by == byKey {
		return rand.Uint32()
	}
	return uint32(mix(uint64(hashOf(r))))
}
