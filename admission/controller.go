package admission

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/scorecard"
)

// Controller decides over requests: run now, wait a little, or be shed. It is
// safe for concurrent use. Make one with [New] and end it with Close. A nil
// Controller admits everything.
type Controller struct {
	opts  options
	start time.Time // all times inside are Durations since it
	card  *scorecard.Card
	plan  atomic.Pointer[plan]

	exempt  atomic.Uint64
	cohorts atomic.Uint64 // epoch of the cohorts, see CohortOf
	load    loadMeter
	moments moments
	sheds   shedSamples

	poke     chan struct{} // the loop should look now
	done     chan struct{} // closed by Close
	running  sync.WaitGroup
	steered  bool // the loop's: lanes were told what signals ask for
	shedding bool // the loop's: the scorecard was told so

	nextMoment time.Duration // the loop's: when to remember one

	mu struct { // guards changes of the plan; taken before any lane's lock
		sync.Mutex
		closed bool
		config ConfigStats
		lanes  []*lane // all that the loop serves, removed ones until they drain

		regulators map[string]*regulator
		pollers    []*poller // all that may still run
	}
}

// New starts a controller: its loop's goroutine, and one for each signal. The
// zero Config works. All that is wrong with cfg and opts is reported at once.
func New(cfg Config, opts ...Option) (*Controller, error) {
	o, err := gather(opts)
	if err := errors.Join(err, o.check(cfg)); err != nil {
		return nil, err
	}
	card, err := scorecard.New()
	if err != nil {
		return nil, err
	}
	c := &Controller{
		opts: o, start: time.Now(), card: card,
		poke: make(chan struct{}, 1), done: make(chan struct{}),
	}
	c.cohorts.Store(cohortEpoch(c.start))
	c.sheds.makeRoom()
	if err := c.apply(cfg); err != nil {
		return nil, err
	}
	c.running.Go(c.loop)
	return c, nil
}

// now is the time since the controller started: one reading of the monotonic
// clock, cheaper than time.Now and blind to steps of the wall clock.
func (c *Controller) now() time.Duration { return time.Since(c.start) }

// wake has the loop look now.
func (c *Controller) wake() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// Apply changes the config while the controller runs: whole, or not at all
// with all errors at once. Who runs and who waits, learned limits, histograms
// and the scorecard's counters stay; a lane that is gone drains. Of regulators
// whatever their config still names lives on: readings, what their PIDs have
// integrated, what guards hold. A built-in one whose kind, limit or target is
// another starts anew.
func (c *Controller) Apply(cfg Config) error {
	if c == nil {
		return errNil
	}
	err := c.Check(cfg)
	if err == nil {
		err = c.apply(cfg)
	}
	if err != nil {
		c.RefuseConfig(err)
		return err
	}
	c.opts.logger.LogAttrs(context.Background(), slog.LevelInfo, "config applied")
	return nil
}

func (c *Controller) apply(cfg Config) error {
	cfg = cfg.WithDefaults()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return ErrClosed
	}
	p, err := c.compile(cfg)
	if err != nil {
		return err
	}
	all, err := c.regulate(p)
	if err != nil {
		return err
	}
	if err := c.card.SetRules(cfg.Scorecard.Rules...); err != nil {
		return fmt.Errorf("admission: scorecard: %w", err)
	}
	c.card.SetMaxTenants(cfg.Scorecard.MaxTenants)
	for name, lc := range cfg.Lanes {
		l := p.lanes[name]
		l.lax.Store(uint32(max(cfg.Mode, lc.Mode)))
		err := c.reconfigure(l, lc)
		if err != nil { // cannot be: the config was validated
			return fmt.Errorf("admission: lane %q: %w", name, err)
		}
	}
	p.plain = p.isPlain()
	c.plan.Store(p)
	c.acceptedLocked()
	c.runRegulators(p, all)
	for _, l := range c.mu.lanes {
		if p.lanes[l.name] != l {
			// Who still holds the plan before must not wait in a lane that
			// nobody serves any more.
			l.mu.Lock()
			l.mu.core.Retire()
			l.mu.Unlock()
		}
	}
	c.wake()
	return nil
}

func (c *Controller) reconfigure(l *lane, lc LaneConfig) error {
	l.mu.Lock()
	defer l.mu.Unlock() // also when a Limit of the user's panics
	err := l.mu.core.Reconfigure(lc.core(), c.opts.limits[l.name])
	l.mu.asleep, l.mu.wake = false, 0
	l.mu.limit = l.mu.core.Limit()
	c.card.SetLimitLocked(l.name, l.mu.limit)
	return err
}

// Config is the config in force, with defaults filled in. It must not be
// changed.
func (c *Controller) Config() Config {
	if c == nil {
		return Config{Mode: Off}
	}
	return c.plan.Load().cfg
}

// Untrusted is what becomes of a priority that came from outside, from a
// header say: its tier, lowered to PriorityConfig.UntrustedMax if it is better,
// without its cohort, since who picks his own picks the best. Zero stays zero.
func (c *Controller) Untrusted(p Priority) Priority {
	if c == nil || p == 0 {
		return p
	}
	best := c.plan.Load().cfg.Priorities.UntrustedMax.Tier()
	return max(p.Tier(), best).Priority()
}

// Close sheds all waiters and every later request with [ErrClosed], and waits
// for the controller's goroutines. Requests that run may go on and be
// released. A signal that does not heed its context is waited for a second;
// then Close returns an error that names it. Later calls do nothing.
func (c *Controller) Close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	if c.mu.closed {
		c.mu.Unlock()
		return nil
	}
	c.mu.closed = true
	p := *c.plan.Load()
	p.closed = true
	c.plan.Store(&p)
	lanes, pollers := c.mu.lanes, c.mu.pollers
	c.mu.Unlock()

	close(c.done)
	for _, l := range lanes {
		l.mu.Lock()
		l.mu.core.Close(c.now())
		settled := l.mu.core.Settled()
		l.mu.asleep = false
		l.mu.Unlock()
		tell(settled)
	}
	c.running.Wait()
	for _, l := range lanes {
		c.endShedding(l)
	}
	return stopPollers(pollers)
}
