package codel

import (
	"slices"
	"testing"
	"time"
)

// oracle is the queue as one would write it without a thought for its cost: a
// slice of waiters in order of arrival, searched for everything.
type oracle struct {
	t        *testing.T
	q        *Queue[int]
	now      time.Time // the latest seen while somebody waits
	capacity int
	law      string
	tiers    [NumTiers]struct {
		since time.Time // when it became non-empty
		last  time.Duration
		mode  Mode
	}
	waiters []*entry
}

func (o *oracle) empty(tier int) bool {
	return !slices.ContainsFunc(o.waiters, func(e *entry) bool { return e.tier == tier })
}

type entry struct {
	it   *Item[int]
	tier int
	from time.Time
}

const oracleInterval = 20 * ms

func (o *oracle) look(now time.Time) {
	if len(o.waiters) == 0 {
		o.now = now
	}
	if now.After(o.now) {
		o.now = now
	}
	for tier := range o.tiers {
		t := &o.tiers[tier]
		window := max(t.last, 0)
		if o.law == LawCoDel {
			window = oracleInterval
		}
		if o.empty(tier) {
			t.since, t.mode = o.now, FIFO
		} else if o.now.Sub(t.since) > window {
			t.mode = LIFO
		}
	}
}

func (o *oracle) take(it *Item[int]) *entry {
	i := slices.IndexFunc(o.waiters, func(e *entry) bool { return e.it == it })
	if i < 0 {
		o.t.Fatalf("%p is not among the waiters", it)
	}
	if it.queue != nil || it.links != [numChains]links[int]{} {
		o.t.Fatalf("%p left, but is still linked", it)
	}
	e := o.waiters[i]
	o.waiters = slices.Delete(o.waiters, i, i+1)
	if o.empty(e.tier) {
		o.tiers[e.tier].mode = FIFO
	}
	return e
}

func (o *oracle) push(now time.Time, it *Item[int]) {
	o.look(now)
	e := &entry{it, min(max(it.Tier, 0), NumTiers-1), o.now}
	var worst *entry
	for _, w := range o.waiters {
		if worst == nil || w.tier > worst.tier {
			worst = w
		}
	}
	full := len(o.waiters) >= o.capacity
	refused := full && (worst == nil || worst.tier < e.tier)

	evicted, ok := o.q.Push(now, it)
	switch {
	case ok == refused:
		o.t.Fatalf("Push ok is %v with %d of %d waiting", ok, len(o.waiters), o.capacity)
	case ok && full && evicted != worst.it:
		o.t.Fatalf("evicted %p, want %p", evicted, worst.it)
	case (!ok || !full) && evicted != nil:
		o.t.Fatalf("evicted %p, want nobody", evicted)
	}
	if ok {
		o.waiters = append(o.waiters, e)
		if evicted != nil {
			o.take(evicted)
		}
		o.tiers[e.tier].last = it.Allowance
		o.look(now)
	}
}

func (o *oracle) pop(now time.Time) {
	o.look(now)
	var best *entry
	for _, w := range o.waiters {
		if best == nil || w.tier < best.tier || w.tier == best.tier && o.tiers[w.tier].mode == LIFO {
			best = w
		}
	}
	peeked, got := o.q.Peek(now), o.q.Pop(now)
	if peeked != got || (got == nil) != (best == nil) || best != nil && got != best.it {
		o.t.Fatalf("Peek %p, Pop %p, want %v", peeked, got, best)
	}
	if got != nil {
		o.take(got)
	}
}

// expire takes out one, or all, and returns whether none is left.
func (o *oracle) expire(now time.Time, all bool) {
	for {
		o.look(now)
		it := o.q.Expire(now)
		if it == nil {
			break
		}
		if e := o.take(it); o.now.Sub(e.from) < it.Allowance {
			o.t.Fatalf("expired after %v of its %v", o.now.Sub(e.from), it.Allowance)
		}
		if !all {
			return
		}
	}
	for _, w := range o.waiters {
		if waited := o.now.Sub(w.from); waited >= max(w.it.Allowance, 0)+grain {
			o.t.Fatalf("did not expire: waited %v of %v", waited, w.it.Allowance)
		}
	}
	if next, ok := o.q.NextExpiry(); ok && !next.After(o.now) {
		o.t.Fatalf("drained, but NextExpiry is %v ago", o.now.Sub(next))
	}
}

// check compares all that can be observed.
func (o *oracle) check(now time.Time) {
	mode := FIFO
	for tier, t := range o.tiers {
		mode = max(mode, t.mode)
		if got := o.q.ModeTier(tier); got != t.mode {
			o.t.Fatalf("tier %d: mode %v, want %v", tier, got, t.mode)
		}
	}
	if o.q.Len() != len(o.waiters) || o.q.Mode() != mode || o.q.Capacity() != o.capacity {
		o.t.Fatalf("Len, Mode, Capacity are %d, %v, %d, want %d, %v, %d",
			o.q.Len(), o.q.Mode(), o.q.Capacity(), len(o.waiters), mode, o.capacity)
	}
	var count [NumTiers]int
	var age [NumTiers]time.Duration
	latest := o.now
	if now.After(latest) {
		latest = now
	}
	next, ok := o.q.NextExpiry()
	if ok != (len(o.waiters) > 0) {
		o.t.Fatalf("NextExpiry ok is %v with %d waiting", ok, len(o.waiters))
	}
	var items []*Item[int]
	for _, w := range o.waiters {
		if count[w.tier]++; count[w.tier] == 1 {
			age[w.tier] = latest.Sub(w.from)
		}
		if got, want := w.it.Sojourn(now), max(now.Sub(w.from), 0); got != want {
			o.t.Fatalf("Sojourn is %v, want %v", got, want)
		}
		if expiry := w.from.Add(max(w.it.Allowance, 0)).Add(grain); next.After(expiry) {
			o.t.Fatalf("NextExpiry is %v late", next.Sub(expiry))
		}
		items = append(items, w.it)
	}
	for tier := range count {
		if n, a := o.q.LenTier(tier), o.q.HeadAge(now, tier); n != count[tier] || a != age[tier] {
			o.t.Fatalf("tier %d: LenTier %d, HeadAge %v, want %d, %v", tier, n, a, count[tier], age[tier])
		}
	}
	checkWheel(o.t, &o.q.wheel, items)
}

// FuzzQueue lets pairs of bytes choose an operation and its argument, and
// compares the queue with the oracle after each.
func FuzzQueue(f *testing.F) {
	f.Add([]byte{0, 3, 0, 9, 0, 1, 3, 20, 1, 0, 2, 0, 6, 0})
	f.Add([]byte{7, 2, 0, 5, 0, 5, 0, 4, 0, 12, 7, 0, 1, 0, 0, 0})
	f.Add([]byte{8, 1, 0, 40, 3, 90, 0, 41, 1, 0, 4, 50, 0, 42, 6, 0})
	f.Add([]byte{0, 70, 0, 130, 5, 9, 0, 10, 6, 0, 5, 30, 6, 0, 0, 200, 6, 0})
	f.Fuzz(func(t *testing.T, ops []byte) {
		o := &oracle{t: t, q: New[int](Config{}), capacity: DefaultCapacity, law: LawDeadline}
		now := t0
		for ; len(ops) >= 2; ops = ops[2:] {
			switch arg := int(ops[1]); ops[0] % 9 {
			case 0:
				// Tiers of -1 to 6, allowances of -0.3 ms to some hours, off
				// the grain.
				allowance := time.Duration(1)<<(arg/8)*13*time.Microsecond - 300*time.Microsecond
				o.push(now, &Item[int]{Tier: arg%8 - 1, Allowance: allowance})
			case 1:
				o.pop(now)
			case 2:
				if len(o.waiters) > 0 {
					it := o.waiters[arg%len(o.waiters)].it
					if !o.q.Remove(it) || o.q.Remove(it) {
						t.Fatal("Remove must succeed once")
					}
					o.take(it)
				}
			case 3:
				now = now.Add(time.Duration(arg) * 100 * time.Microsecond)
			case 4:
				now = now.Add(-time.Duration(arg) * 100 * time.Microsecond)
			case 5: // to some years, within the 292 that a Duration can tell
				if now.Sub(t0) < 200*365*24*time.Hour {
					now = now.Add(time.Millisecond << (arg % 38))
				}
			case 6:
				o.expire(now, arg%2 == 0)
			case 7:
				o.capacity = arg % 16
				o.q.SetCapacity(o.capacity)
			case 8:
				o.law = []string{LawDeadline, LawCoDel, LawTight}[arg%3]
				cfg := Config{Capacity: 1 + arg%8, Law: o.law}
				if o.law == LawCoDel {
					cfg.Interval = oracleInterval
				}
				o.capacity = cfg.Capacity
				o.q.SetConfig(cfg)
				o.look(o.now)
			}
			o.check(now)
		}
	})
}
