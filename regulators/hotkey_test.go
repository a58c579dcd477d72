package regulators_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

func TestHotKey(t *testing.T) {
	playTurns(t, guard(t)(regulators.HotKey(0.5, 4)), []turn{
		{why: "one key alone, not loaded", key: "hot", n: 1},
		{key: "hot", n: 1},
		{key: "hot", n: 1},
		{key: "hot", n: 1},
		{why: "at the floor", key: "hot", n: 1, want: regulators.ErrRefused},
		{why: "another gets in", key: "cold", n: 1},
		{why: "a request without a key too", key: "", n: 1},
		{why: "4 of 6 are too many", key: "hot", n: 1, want: regulators.ErrRefused},
		{key: "hot", n: 1, exit: true},
		{key: "hot", n: 1, exit: true},
		{why: "3 of 5 are", key: "hot", n: 1, want: regulators.ErrRefused},
		{why: "not weighted", key: "cold", n: 2},
		{why: "3 of 7 are not", key: "hot", n: 1},
		{why: "it holds much, but has not come of late", wait: time.Minute, key: "old", n: 20},
		{why: "who came less than others", key: "hot", n: 10},
		{why: "nothing wanted", key: "old", n: 0},
	})
}

// What comes without a key is part of all that comes.
func TestHotKeyCountsWhatHasNoKey(t *testing.T) {
	playTurns(t, guard(t)(regulators.HotKey(0.5, 1)), []turn{
		{why: "much without a key", key: "", n: 10},
		{key: "", n: 10, exit: true},
		{why: "a little with one", key: "k", n: 1},
		{why: "all that is in flight, but not most that came", key: "k", n: 1},
	})
}

// A key with nothing in flight gets in, however loaded the service is and however
// alone it comes.
func TestHotKeyShutsNobodyOut(t *testing.T) {
	g := guard(t)(regulators.HotKey(0.2, 4))
	now := epoch
	for range 100 {
		if err := g.Enter(now, "", 1); err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 {
		now = now.Add(time.Second)
		if err := g.Enter(now, "slow", 1); err != nil {
			t.Fatalf("refused as the only one who comes: %v", err)
		}
		g.Exit("slow", 1)
	}
}

// A hot key that asks for half of all and more is held to its share of what is in flight,
// neither above nor far below, and the other keys are not refused.
func TestHotKeyHoldsToItsShare(t *testing.T) {
	const (
		seed  = 7
		share = 0.2
		floor = 20
		stays = 100 * time.Millisecond
	)
	r := rand.New(rand.NewPCG(seed, seed))
	g := guard(t)(regulators.HotKey(share, floor))
	type leaving struct {
		at  time.Time
		key string
	}
	var (
		inflight  []leaving // in the order of leaving: all stay alike
		hot       int
		sum, seen float64
	)
	now := epoch
	for range 20_000 { // 1,000 a second
		now = now.Add(time.Millisecond)
		for len(inflight) > 0 && !inflight[0].at.After(now) {
			g.Exit(inflight[0].key, 1)
			if inflight[0].key == "hot" {
				hot--
			}
			inflight = inflight[1:]
		}
		key := "hot"
		if r.IntN(2) == 0 {
			key = strconv.Itoa(r.IntN(1000))
		}
		loaded := len(inflight) >= floor
		err := g.Enter(now, key, 1)
		if err != nil && key != "hot" {
			t.Fatalf("seed %d: key %s refused: %v", seed, key, err)
		}
		if err == nil {
			inflight = append(inflight, leaving{now.Add(stays), key})
			if key == "hot" {
				hot++
				if had := float64(hot); loaded && hot > 1 && had > share*float64(len(inflight)) {
					t.Fatalf("seed %d: %d of %d in flight let in beyond the share", seed, hot, len(inflight))
				}
			}
		}
		sum += float64(hot) / float64(max(1, len(inflight)))
		seen++
	}
	if mean := sum / seen; mean < share*0.85 || mean > share*1.05 {
		t.Errorf("seed %d: the hot key had %.3f of what was in flight, want about %v", seed, mean, share)
	}
}
