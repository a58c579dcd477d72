package admission

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// poller asks one source, again and again, on a goroutine of its own: one that
// hangs holds up nobody else. There is one for each source however often the
// config changes, so a source is never asked twice at once, and one that hangs
// leaves one goroutine behind and no more.
type poller struct {
	name   string
	ask    func(context.Context) error // asks once and keeps what it is told
	times  atomic.Pointer[RegulatorConfig]
	again  chan struct{} // the times have changed
	cancel context.CancelFunc
	ended  chan struct{}

	misses atomic.Uint64
	mu     struct {
		sync.Mutex
		err error // of the last poll
	}
	lost   bool          // the loop's: no reading, and it was logged
	toldAt time.Duration // and when
}

func newPoller(name string, cfg RegulatorConfig) *poller {
	p := &poller{name: name, again: make(chan struct{}, 1), ended: make(chan struct{})}
	p.times.Store(&cfg)
	return p
}

// over tells that it has ended.
func (p *poller) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// start begins to poll at once.
func (p *poller) start() {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go p.run(ctx, 0)
}

// retime makes the poller follow a config from now on.
func (p *poller) retime(cfg RegulatorConfig) {
	old := p.times.Swap(&cfg)
	if old.Period == cfg.Period {
		return
	}
	select {
	case p.again <- struct{}{}:
	default:
	}
}

// pause until the next poll: the period, jittered by 10 %, so that the signals of
// many processes do not ask one server at once.
func (p *poller) pause() time.Duration {
	return time.Duration(float64(p.times.Load().Period) * (0.9 + 0.2*rand.Float64()))
}

// run polls for as long as ctx lives. A source that ends the goroutine has
// missed one poll; another goroutine goes on.
func (p *poller) run(ctx context.Context, first time.Duration) {
	timer := time.NewTimer(first)
	defer timer.Stop()
	defer func() {
		if ctx.Err() != nil {
			close(p.ended)
			return
		}
		p.miss(errors.New("it ended the goroutine that polls it"))
		go p.run(ctx, p.pause())
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.again:
			timer.Reset(p.pause())
			continue
		case <-timer.C:
		}
		p.poll(ctx)
		timer.Reset(p.pause())
	}
}

// poll asks once. One that hangs is a miss now, not when it comes back.
func (p *poller) poll(ctx context.Context) {
	timeout := p.times.Load().Timeout
	late := time.AfterFunc(timeout, func() { p.miss(fmt.Errorf("no answer within %v", timeout)) })
	err, inTime := error(nil), true
	func() {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		defer func() { inTime = late.Stop() }() // also when the goroutine ends
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("it panicked: %v", v)
			}
		}()
		err = p.ask(ctx)
	}()
	switch {
	case err == nil:
		p.answer(nil)
	case inTime:
		p.miss(err)
	}
}

// miss says why before it counts: failing looks at both.
func (p *poller) miss(err error) {
	p.answer(err)
	p.misses.Add(1)
}

func (p *poller) answer(err error) {
	p.mu.Lock()
	p.mu.err = err
	p.mu.Unlock()
}

func (p *poller) err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.err
}

// failing tells whether it has been asked in vain. One that measures over the time
// between two polls has nothing to say at the first, and is not failing for that.
func (p *poller) failing() bool {
	n := p.misses.Load()
	return n > 1 || n == 1 && !errors.Is(p.err(), regulators.ErrNoReading)
}

// tellEdge logs that the source has no reading any more, or has one again.
// What comes and goes is not told more often than once in edgePeriod.
func (p *poller) tellEdge(log *slog.Logger, now time.Duration, fresh bool) {
	if lost := !fresh && p.failing(); lost != p.lost && (p.toldAt == 0 || now-p.toldAt >= edgePeriod) {
		p.lost, p.toldAt = lost, now
		if lost {
			log.LogAttrs(context.Background(), slog.LevelWarn, "signal lost", slog.String("signal", p.name), slog.Any("err", p.err()))
		} else {
			log.LogAttrs(context.Background(), slog.LevelInfo, "signal found again", slog.String("signal", p.name))
		}
	}
}

// stopPollers ends them and names those that do not end within a second for all
// of them together.
func stopPollers(pollers []*poller) error {
	for _, p := range pollers {
		p.cancel()
	}
	var errs []error
	grace, late := time.NewTimer(time.Second), false
	defer grace.Stop()
	for _, p := range pollers {
		if !late {
			select {
			case <-p.ended:
			case <-grace.C:
				late = true
			}
		}
		if !p.over() {
			errs = append(errs, fmt.Errorf("admission: signal %q does not heed its context; its poll is left behind", p.name))
		}
	}
	return errors.Join(errs...)
}
