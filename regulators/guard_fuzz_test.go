package regulators

import (
	"errors"
	"testing"
	"time"
)

// FuzzGuards plays Enter and Exit in any order, each input byte a step, beside a
// plain record of who holds what: nothing passes the bound, a refusal takes
// nothing, and when all is given back every counter is zero.
func FuzzGuards(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 255, 128, 64, 1, 1, 1, 1})
	f.Add([]byte("enter and exit, enter and exit, enter and exit"))
	f.Fuzz(func(t *testing.T, steps []byte) {
		const most, share, floor, maxKeys = 32, 0.25, 8, 3
		bytes, err1 := InflightBytes(most)
		hot, err2 := HotKey(share, floor)
		rates, err3 := Rate(RateConfig{PerSecond: 2, Burst: 4, MaxKeys: maxKeys})
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		b, h, r := bytes.(*inflightBytes), hot.(*hotKey), rates.(*rateGuard)
		type taken struct {
			guard Guard
			key   string
			n     int64
		}
		var (
			held []taken
			now  = time.Unix(1e9, 0)
			keys = []string{"", "a", "b", "c", "d", "e", "f", "g"}
		)
		exit := func(i int) {
			held[i].guard.Exit(held[i].key, held[i].n)
			held[i] = held[len(held)-1]
			held = held[:len(held)-1]
		}
		sum := func(g Guard, key string) (inflight int64) {
			for _, one := range held {
				if one.guard == g && (key == "*" || one.key == key) {
					inflight += one.n
				}
			}
			return inflight
		}
		for i, step := range steps {
			now = now.Add(time.Duration(int8(step)) * 10 * time.Millisecond) // backwards too
			if step%3 == 0 && len(held) > 0 {
				exit(int(step) * (i + 1) % len(held))
				continue
			}
			one := taken{[]Guard{b, h}[step/8%2], keys[step%8], int64(step / 16)}
			_ = r.Enter(now, one.key, one.n)
			inflight, own := sum(one.guard, "*"), sum(one.guard, one.key)
			err := one.guard.Enter(now, one.key, one.n)
			switch {
			case err == nil:
				held = append(held, one)
			case one.guard == Guard(b) && one.n <= most-inflight:
				t.Fatalf("%d bytes refused with %d of %d in flight: %v", one.n, inflight, most, err)
			case one.guard == Guard(h) && (one.key == "" || own == 0 || inflight < floor):
				t.Fatalf("key %q refused with %d of %d in flight: %v", one.key, own, inflight, err)
			}
			if sum(b, "*") > most {
				t.Fatalf("%d bytes in flight, want at most %d", sum(b, "*"), most)
			}
			if places := len(r.mu.young) + len(r.mu.old); places > maxKeys {
				t.Fatalf("%d keys have a bucket, want at most %d", places, maxKeys)
			}
			if h.mu.inflight != sum(h, "*") || b.inflight.Load() != sum(b, "*") {
				t.Fatalf("counted %d and %d, want %d and %d", h.mu.inflight, b.inflight.Load(), sum(h, "*"), sum(b, "*"))
			}
		}
		for len(held) > 0 {
			exit(len(held) - 1)
		}
		if b.inflight.Load() != 0 || h.mu.inflight != 0 || len(h.mu.byKey) != 0 {
			t.Fatalf("left over: %d bytes, %d in flight, %d keys", b.inflight.Load(), h.mu.inflight, len(h.mu.byKey))
		}
	})
}
