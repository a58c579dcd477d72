package regulators

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"sync"
	"time"
)

// hotKeyHalfLife: long enough to tell a hot key from a coincidence at some dozens
// of requests per second, short enough to let go of one that has cooled.
const hotKeyHalfLife = time.Second

type hotKey struct {
	share float64
	floor int64
	seed  maphash.Seed

	mu struct {
		sync.Mutex
		inflight int64
		byKey    map[uint64]int64 // in flight; never zero
		recent   heavyHitters
	}
}

// HotKey returns a Guard that keeps one key (a row, a partition, a user) from
// taking more than share of what is in flight, while at least floor is. A key is
// refused when it has come for more than share of what arrived of late (weights
// halve each second) and would have more than share in flight too: so a hot key is
// held to its share and not shut out, two requests that happen to meet are
// not taken for one, and a key with nothing in flight always gets in. While less
// than floor is in flight the service is not loaded and every key may have all of it.
//
// share must be at least 0.05 and below 1, floor at least 1; there are no
// defaults. A share of 0.2 with a floor of half the lane's usual limit is a start.
// Caps below that are the scorecard's work. n may be requests, cost or bytes.
// Requests without a key ("") count towards the total and are never refused.
//
// What is in flight is counted exactly, for each key that has anything. Who
// arrives most is told by a sketch of 4/share counters, exact for the top keys
// and never too high for any. Memory is bounded by that and by the
// number of requests in flight; keys themselves are not kept, only hashes. Enter
// and Exit share one lock and cost some 250 ns together.
func HotKey(share float64, floor int64) (Guard, error) {
	var errs []error
	if !(share >= 0.05 && share < 1) {
		errs = append(errs, fmt.Errorf("regulators: share of HotKey is %v, must be at least 0.05 and below 1", share))
	}
	if floor < 1 {
		errs = append(errs, fmt.Errorf("regulators: floor of HotKey is %d, must be at least 1", floor))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	g := &hotKey{share: share, floor: floor, seed: maphash.MakeSeed()}
	g.mu.byKey = map[uint64]int64{}
	// A key at its share has four times what the lowest counter can have.
	g.mu.recent = newHeavyHitters(int(math.Ceil(4/share)), hotKeyHalfLife)
	return g, nil
}

var (
	errHotKey       = fmt.Errorf("%w: HotKey: this key has its share of what is in flight", ErrRefused)
	errHotKeyBounds = fmt.Errorf("%w: HotKey counts no further", ErrTooLarge)
)

func (g *hotKey) Enter(now time.Time, key string, n int64) error {
	switch {
	case n < 0:
		return errNegative
	case n == 0:
		return nil
	}
	hash := maphash.String(g.seed, key)
	g.mu.Lock()
	defer g.mu.Unlock()
	if n > math.MaxInt64-g.mu.inflight {
		return errHotKeyBounds
	}
	if key == "" {
		g.mu.recent.addOthers(now, float64(n))
		g.mu.inflight += n
		return nil
	}
	own, total := g.mu.recent.add(now, hash, float64(n))
	held := g.mu.byKey[hash]
	loaded := g.mu.inflight >= g.floor
	arrivesMost := own > g.share*total
	holdsMost := held > 0 && float64(held+n) > g.share*float64(g.mu.inflight+n)
	if loaded && arrivesMost && holdsMost {
		return errHotKey
	}
	g.mu.inflight += n
	g.mu.byKey[hash] = held + n
	return nil
}

func (g *hotKey) Exit(key string, n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.inflight -= n
	if key == "" || n == 0 {
		return
	}
	hash := maphash.String(g.seed, key)
	if left := g.mu.byKey[hash] - n; left > 0 {
		g.mu.byKey[hash] = left
	} else {
		delete(g.mu.byKey, hash)
	}
}
