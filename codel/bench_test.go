package codel

import (
	"fmt"
	"testing"
	"time"
)

var depths = []int{10, 1_000, 100_000}

// fill returns a queue of n waiters of all tiers with allowances of about d,
// and one item more to push.
func fill(n int, d time.Duration) (*Queue[int], []Item[int]) {
	q := New[int](Config{Capacity: n + 1})
	items := make([]Item[int], n+1)
	for i := range items {
		items[i].Tier = i % NumTiers
		items[i].Allowance = d + time.Duration(i%1000)*d/1000
	}
	for i := range n {
		q.Push(at(0), &items[i])
	}
	return q, items
}

// BenchmarkPushPop keeps n waiting: push one, pop the best.
func BenchmarkPushPop(b *testing.B) {
	for _, n := range depths {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			q, items := fill(n, time.Hour)
			it, now := &items[n], at(0)
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(time.Microsecond)
				q.Push(now, it)
				it = q.Pop(now)
			}
		})
	}
}

// BenchmarkRemove keeps n waiting: one leaves from anywhere and comes again.
func BenchmarkRemove(b *testing.B) {
	for _, n := range depths {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			q, items := fill(n, time.Hour)
			now, i := at(0), 0
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(time.Microsecond)
				q.Remove(&items[i])
				q.Push(now, &items[i])
				if i += 7; i >= n {
					i -= n
				}
			}
		})
	}
}

// BenchmarkExpire keeps about n waiting, all of whom expire: cascades are in it.
func BenchmarkExpire(b *testing.B) {
	for _, n := range depths {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			const allowance = time.Second
			q, items := fill(n, allowance)
			q.Push(at(0), &items[n])
			now, gap := at(0), allowance/time.Duration(n)
			b.ReportAllocs()
			for b.Loop() {
				it := q.Expire(now)
				for it == nil {
					now = now.Add(gap)
					it = q.Expire(now)
				}
				q.Push(now, it)
			}
		})
	}
}
