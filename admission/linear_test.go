package admission

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/race"
)

// Promises 2 and 4 as callers see them: the answers to concurrent requests and releases
// could have been given one after the other, each at some moment between its question and
// its answer, by a semaphore that never gives out more slots than there are and never
// refuses while one is free. Thousands of small histories, so that all orders can be tried.

type linearKind int

const (
	took   linearKind = iota // got its slots
	gave                     // gave them back
	full                     // was refused for want of them
	gone                     // left: it may have had its slots for a moment
	resize                   // set the limit
)

// linearOp is one call of a history: what came out, and when it began and ended.
type linearOp struct {
	kind         linearKind
	n            int // slots, or the limit
	began, ended int64
}

// linearState is how far a search has come.
type linearState struct {
	done        uint64 // ops by their place
	had         uint64 // those of kind gone that have slots at this moment
	used, limit int
}

func (s linearState) fits(n int) bool { return s.used+n <= s.limit || s.used == 0 }

// after lists what may follow when op i is next: nothing if its answer would be wrong.
func (s linearState) after(i int, op linearOp) []linearState {
	bit, next := uint64(1)<<i, s
	next.done |= bit
	switch op.kind {
	case took:
		next.used += op.n
		return []linearState{next}[:one(s.fits(op.n))]
	case gave:
		next.used -= op.n
	case full:
		return []linearState{next}[:one(!s.fits(op.n))]
	case resize:
		next.limit = op.n
	case gone:
		if s.had&bit != 0 {
			next.used, next.had = s.used-op.n, s.had&^bit
			return []linearState{next}
		}
		holds := s
		holds.used, holds.had = s.used+op.n, s.had|bit
		return []linearState{next, holds}[:1+one(s.fits(op.n))]
	}
	return []linearState{next}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// linearizable searches for an order of the ops, at most 64, in which each could have
// had its answer.
func linearizable(ops []linearOp, limit int) bool {
	seen := map[linearState]bool{}
	var search func(linearState) bool
	search = func(s linearState) bool {
		if s.done == 1<<len(ops)-1 {
			return true
		}
		if seen[s] {
			return false
		}
		seen[s] = true
		first := int64(1<<63 - 1) // of those still to come, the first that ended
		for i, op := range ops {
			if s.done&(1<<i) == 0 {
				first = min(first, op.ended)
			}
		}
		for i, op := range ops {
			if s.done&(1<<i) != 0 || op.began > first {
				continue
			}
			for _, next := range s.after(i, op) {
				if search(next) {
					return true
				}
			}
		}
		return false
	}
	return search(linearState{limit: limit})
}

func TestLinearizable(t *testing.T) {
	for _, tc := range []struct {
		why  string
		ops  []linearOp
		want bool
	}{
		{"one after the other", []linearOp{{took, 1, 1, 2}, {full, 1, 3, 4}, {gave, 1, 5, 6}, {took, 1, 7, 8}}, true},
		{"two at once, one slot", []linearOp{{took, 1, 1, 3}, {took, 1, 2, 4}, {gave, 1, 5, 6}, {gave, 1, 7, 8}}, false},
		{"the second after the first was given back", []linearOp{{took, 1, 1, 4}, {gave, 1, 5, 7}, {took, 1, 2, 8}}, true},
		{"refused by an empty lane", []linearOp{{full, 1, 1, 2}, {took, 1, 3, 4}}, false},
		{"refused while another one came", []linearOp{{full, 1, 1, 4}, {took, 1, 2, 3}}, true},
		{"refused after the slot was given back", []linearOp{{took, 1, 1, 2}, {gave, 1, 3, 4}, {full, 1, 5, 6}}, false},
		{"refused for one who left, and had it", []linearOp{{gone, 1, 1, 4}, {full, 1, 2, 3}}, true},
		{"refused for one who had left", []linearOp{{gone, 1, 1, 2}, {full, 1, 3, 4}}, false},
		{"took what one who left could not have", []linearOp{{took, 1, 1, 2}, {gone, 1, 3, 4}, {gave, 1, 5, 6}}, true},
		{"two after the limit was raised", []linearOp{{took, 1, 1, 2}, {resize, 2, 3, 6}, {took, 1, 4, 5}}, true},
		{"two before", []linearOp{{took, 1, 1, 2}, {took, 1, 3, 4}, {resize, 2, 5, 6}}, false},
		{"more than the limit, alone", []linearOp{{took, 2, 1, 2}, {full, 1, 3, 4}}, true},
	} {
		if got := linearizable(tc.ops, 1); got != tc.want {
			t.Errorf("%s: %v", tc.why, got)
		}
	}
}

// history is one caller's ops by a clock that all share.
type history struct {
	clock *atomic.Int64
	rng   *rand.Rand
	ops   []linearOp
}

// record takes down a call.
func (h *history) record(n int, call func() linearKind) {
	began := h.clock.Add(1)
	kind := call()
	h.ops = append(h.ops, linearOp{kind, n, began, h.clock.Add(1)})
}

// ask takes slots if it can, and gives them back, now and then by two at once.
func (h *history) ask(t *testing.T, c *Controller, cost int, wait bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ask := c.TryAdmit
	if wait {
		ask = c.Admit
		if h.rng.IntN(2) == 0 {
			time.AfterFunc(time.Duration(h.rng.IntN(60))*time.Microsecond, cancel)
		}
	}
	var ticket Ticket
	h.record(cost, func() linearKind {
		var err error
		ticket, err = ask(ctx, Request{Cost: cost, Priority: NewPriority(Tier(h.rng.IntN(3)), 0)})
		why, shed := ReasonOf(err)
		switch {
		case err == nil:
			return took
		case errors.Is(err, context.Canceled):
			return gone
		case !shed || why != ReasonLimit:
			t.Errorf("err = %v", err)
		}
		return full
	})
	if ticket == (Ticket{}) {
		return
	}
	for range h.rng.IntN(20) {
		runtime.Gosched()
	}
	h.record(cost, func() linearKind {
		if h.rng.IntN(4) == 0 {
			var other sync.WaitGroup
			defer other.Wait()
			other.Go(func() { ticket.Release(Ignore) })
		}
		ticket.Release(Ignore)
		return gave
	})
}

func TestAdmissionIsLinearizable(t *testing.T) {
	t.Run("with waiters, who leave", func(t *testing.T) {
		linear(t, func(h *history, c *Controller, who int) {
			for range 3 {
				h.ask(t, c, 1, h.rng.IntN(3) > 0)
			}
		}, took, gave, full, gone)
	})
	t.Run("at any cost, under a limit that moves", func(t *testing.T) {
		linear(t, func(h *history, c *Controller, who int) {
			for range 3 {
				limit := 2 + h.rng.IntN(4)
				if who > 0 {
					h.ask(t, c, 1+h.rng.IntN(2), false)
				} else if h.record(limit, func() linearKind {
					if err := c.Apply(Pinned(limit, 50)); err != nil {
						t.Error(err)
					}
					return resize
				}); limit > 4 {
					runtime.Gosched()
				}
			}
		}, took, gave, full, resize)
	})
}

// linear has several callers at once, again and again, and judges their histories, in
// which all kinds must occur.
func linear(t *testing.T, caller func(h *history, c *Controller, who int), kinds ...linearKind) {
	const seed, callers, limit = 5, 6, 2
	histories := 3000
	if race.Enabled {
		histories = 600
	}
	c := NewQuiet(t, Pinned(limit, 50))
	count := map[linearKind]int{}
	for i := range histories {
		if err := c.Apply(Pinned(limit, 50)); err != nil {
			t.Fatal(err)
		}
		var clock atomic.Int64
		var wg sync.WaitGroup
		all := make([]history, callers)
		for who := range all {
			h := &all[who]
			h.clock, h.rng = &clock, rand.New(rand.NewPCG(seed, uint64(i*callers+who)))
			wg.Go(func() { caller(h, c, who) })
		}
		wg.Wait()
		var ops []linearOp
		for _, h := range all {
			ops = append(ops, h.ops...)
		}
		for _, op := range ops {
			count[op.kind]++
		}
		if !linearizable(ops, limit) {
			t.Fatalf("history %d, limit %d: no order explains (what, slots, began, ended) %v", i, limit, ops)
		}
	}
	t.Logf("%d histories: %v", histories, count)
	for _, k := range kinds {
		if count[k] < 50 {
			t.Errorf("%d ops of kind %d: no test of it", count[k], k)
		}
	}
}
