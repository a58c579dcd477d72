package regulators

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// RateConfig says how much each key may take.
type RateConfig struct {
	// PerSecond is how much of n a key may take per second in the long run; fractions
	// are fine. It must be finite and above 0 and has no default.
	PerSecond float64 `json:"per_second"`
	// Burst is how much a key may take at once after a pause; n above it can never
	// pass. It must be at least 1; 0 is the default, what a second brings, and at least 1.
	Burst int64 `json:"burst,omitempty"`
	// MaxKeys bounds how many keys have a bucket of their own. It must be at least
	// 1; 0 is the default, 10,000, some 2 MB.
	MaxKeys int `json:"max_keys,omitempty"`
}

const defaultMaxKeys = 10_000

func (c RateConfig) withDefaults() RateConfig {
	if c.Burst == 0 {
		c.Burst = int64(max(1, min(math.Ceil(c.PerSecond), maxBurst)))
	}
	if c.MaxKeys == 0 {
		c.MaxKeys = defaultMaxKeys
	}
	return c
}

// maxBurst keeps a burst within an int everywhere and exact as a float64.
const maxBurst = math.MaxInt32

func (c RateConfig) validate() error {
	var errs []error
	if !(c.PerSecond > 0) || math.IsInf(c.PerSecond, 0) {
		errs = append(errs, fmt.Errorf("regulators: PerSecond of Rate is %v, must be finite and above 0", c.PerSecond))
	}
	if c.Burst < 0 || c.Burst > maxBurst {
		errs = append(errs, fmt.Errorf("regulators: Burst of Rate is %d, must be at least 1 and at most %d (0: what a second brings)", c.Burst, maxBurst))
	}
	if c.MaxKeys < 0 {
		errs = append(errs, fmt.Errorf("regulators: MaxKeys of Rate is %d, must be at least 1 (0: %d)", c.MaxKeys, defaultMaxKeys))
	}
	return errors.Join(errs...)
}

type rateGuard struct {
	cfg      RateConfig
	refill   time.Duration // after so long without use a bucket is full, as a new one
	seed     maphash.Seed
	tooLarge error

	mu struct {
		sync.Mutex
		// Who was seen since turned, and who only in the turn before. Each turn lasts at
		// least refill, so that to forget the older ones forgets nothing.
		young, old map[uint64]*rate.Limiter
		turned     time.Time
		others     *rate.Limiter // shared by those for whom there is no place
	}
}

// Rate returns a Guard with a token bucket ([rate.Limiter] of golang.org/x/time)
// for each key: over time, none takes more than PerSecond, with bursts of Burst.
// It is for what somebody is allowed, not for what the service can bear. n may be
// requests, cost or bytes. The key "" is one like any other.
//
// What was taken is not given back: Exit does nothing, also when a later stage
// sheds the request. A bucket that is full again leaves after at most twice the
// time that it takes to fill; the keys beyond MaxKeys share one bucket until then,
// so that names made up at will gain nothing. Keys are not kept, only hashes. One
// lock; a known key costs some 250 ns and no allocation, a new one its bucket.
func Rate(cfg RateConfig) (Guard, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	g := &rateGuard{
		cfg:      cfg,
		seed:     maphash.MakeSeed(),
		tooLarge: fmt.Errorf("%w: Rate: the burst is %d", ErrTooLarge, cfg.Burst),
	}
	// Not below a second, so that turning is rare; a rate next to 0 fills in ages.
	seconds := max(1, float64(cfg.Burst)/cfg.PerSecond)
	g.refill = time.Duration(min(seconds*float64(time.Second), math.MaxInt64/4))
	g.mu.young = map[uint64]*rate.Limiter{}
	g.mu.others = g.bucket()
	return g, nil
}

var errRate = fmt.Errorf("%w: Rate: this key has had what it may take for now", ErrRefused)

func (g *rateGuard) bucket() *rate.Limiter {
	return rate.NewLimiter(rate.Limit(g.cfg.PerSecond), int(g.cfg.Burst))
}

func (g *rateGuard) Enter(now time.Time, key string, n int64) error {
	switch {
	case n < 0:
		return errNegative
	case n > g.cfg.Burst:
		return g.tooLarge
	}
	hash := maphash.String(g.seed, key)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.limiterLocked(now, hash).AllowN(now, int(n)) {
		return errRate
	}
	return nil
}

func (g *rateGuard) limiterLocked(now time.Time, hash uint64) *rate.Limiter {
	if now.Sub(g.mu.turned) >= g.refill {
		if now.Sub(g.mu.turned) >= 2*g.refill {
			clear(g.mu.young) // they too were last seen longer ago than refill
		}
		// A new map, as one of its size would be laid out under the lock in one go.
		g.mu.young, g.mu.old, g.mu.turned = map[uint64]*rate.Limiter{}, g.mu.young, now
	}
	if l := g.mu.young[hash]; l != nil {
		return l
	}
	l := g.mu.old[hash]
	switch {
	case l != nil:
		delete(g.mu.old, hash)
	case len(g.mu.young)+len(g.mu.old) < g.cfg.MaxKeys:
		l = g.bucket()
	default:
		return g.mu.others
	}
	g.mu.young[hash] = l
	return l
}

func (g *rateGuard) Exit(string, int64) {}
