package regulators_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// guard fails the test when a constructor does.
func guard(t testing.TB) func(regulators.Guard, error) regulators.Guard {
	return func(g regulators.Guard, err error) regulators.Guard {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// turn is one call of a guard: after a wait, Enter, or Exit where n is what left.
type turn struct {
	why  string
	wait time.Duration
	key  string
	n    int64
	exit bool
	want error
}

func playTurns(t *testing.T, g regulators.Guard, turns []turn) {
	t.Helper()
	now := epoch
	for _, step := range turns {
		now = now.Add(step.wait)
		if step.exit {
			g.Exit(step.key, step.n)
		} else if err := g.Enter(now, step.key, step.n); !errors.Is(err, step.want) || (err == nil) != (step.want == nil) {
			t.Errorf("%s: %v, want %v", step.why, err, step.want)
		}
	}
}

func TestInflightBytes(t *testing.T) {
	playTurns(t, guard(t)(regulators.InflightBytes(100)), []turn{
		{why: "some", key: "a", n: 60},
		{why: "too many", key: "b", n: 41, want: regulators.ErrRefused},
		{why: "a refusal took nothing", key: "b", n: 40},
		{why: "none is left", key: "c", n: 1, want: regulators.ErrRefused},
		{why: "none is wanted", key: "c", n: 0},
		{key: "a", n: 60, exit: true},
		{why: "what was given back", key: "c", n: 60},
		{why: "larger than all", n: 101, want: regulators.ErrTooLarge},
		{why: "larger than can be added", n: math.MaxInt64, want: regulators.ErrTooLarge},
		{key: "b", n: 40, exit: true},
		{key: "c", n: 60, exit: true},
		{key: "c", n: 0, exit: true},
		{why: "all of it", n: 100},
	})
}

// Bulk that fills all it may have leaves the small payloads their part, and they
// leave no byte of the bound unused nor pass it.
func TestBulkLeavesRoomForSmallPayloads(t *testing.T) {
	const most, small = 64 << 20, 64 << 10
	g := guard(t)(regulators.InflightBytes(most))
	playTurns(t, g, []turn{
		{why: "the largest", key: "", n: most / 16 * 15},
		{exit: true, n: most / 16 * 15},
		{why: "larger", n: most/16*15 + 1, want: regulators.ErrTooLarge},
	})
	for i := range 9 {
		want := error(nil)
		if i >= 7 { // an eighth one would just fit into the bound
			want = regulators.ErrRefused
		}
		if err := g.Enter(epoch, "", 8<<20); !errors.Is(err, want) {
			t.Errorf("bulk payload %d: %v, want %v", i, err, want)
		}
	}
	playTurns(t, g, []turn{
		{why: "what is left to bulk", n: 4 << 20},
		{why: "hardly bulk", n: small + 1, want: regulators.ErrRefused},
	})
	for i := range 64 {
		if err := g.Enter(epoch, "", small); err != nil {
			t.Errorf("small payload %d: %v", i, err)
		}
	}
	playTurns(t, g, []turn{{why: "the bound", n: 1, want: regulators.ErrRefused}})
}

func TestRate(t *testing.T) {
	playTurns(t, guard(t)(regulators.Rate(regulators.RateConfig{PerSecond: 2, Burst: 3, MaxKeys: 2})), []turn{
		{why: "the burst", key: "a", n: 3},
		{why: "used up", key: "a", n: 1, want: regulators.ErrRefused},
		{key: "a", n: 3, exit: true},
		{why: "what is taken is not given back", key: "a", n: 1, want: regulators.ErrRefused},
		{why: "another key", key: "", n: 1},
		{why: "no place is left: the shared one", key: "b", n: 3},
		{why: "which is used up", key: "c", n: 1, want: regulators.ErrRefused},
		{why: "nothing wanted", key: "c", n: 0},
		{why: "at the rate", wait: 500 * time.Millisecond, key: "a", n: 1},
		{why: "not above", key: "a", n: 1, want: regulators.ErrRefused},
		{why: "a clock that goes back gives nothing", wait: -time.Hour, key: "a", n: 1, want: regulators.ErrRefused},
		{why: "more than the burst", wait: time.Hour, key: "a", n: 4, want: regulators.ErrTooLarge},
		{why: "full again", wait: time.Hour, key: "a", n: 3},
		{why: "idle keys have left", key: "c", n: 2},
		{why: "so this one had a place", key: "c", n: 1},
		{key: "c", n: 1, want: regulators.ErrRefused},
		{why: "and the shared one is full", key: "d", n: 3},
	})
}

// A key that is in use keeps its bucket through every turn: over time it takes
// its rate, to the token, whatever others come and go.
func TestRateHoldsOverTime(t *testing.T) {
	const seed = 9
	r := rand.New(rand.NewPCG(seed, seed))
	g := guard(t)(regulators.Rate(regulators.RateConfig{PerSecond: 10, Burst: 20, MaxKeys: 50}))
	taken, asked := 0, 60*time.Second
	for at := time.Duration(0); at < asked; at += time.Duration(r.Int64N(int64(20 * time.Millisecond))) {
		_ = g.Enter(epoch.Add(at), strconv.Itoa(r.IntN(1e6)), 1)
		if g.Enter(epoch.Add(at), "busy", 1) == nil {
			taken++
		}
	}
	if taken < 10*60+20-2 || taken > 10*60+20 {
		t.Errorf("seed %d: %d in a minute, want 600 and the burst of 20", seed, taken)
	}
}

func TestGuardErrors(t *testing.T) {
	type config = regulators.RateConfig
	for _, tc := range []struct {
		build func() (regulators.Guard, error)
		want  []string
	}{
		{func() (regulators.Guard, error) { return regulators.InflightBytes(0) }, []string{"most of InflightBytes is 0, must be at least 1"}},
		{func() (regulators.Guard, error) { return regulators.InflightBytes(-1) }, []string{"most of InflightBytes is -1"}},
		{func() (regulators.Guard, error) { return regulators.HotKey(0, 0) }, []string{"share of HotKey is 0, must be at least 0.05 and below 1", "floor of HotKey is 0, must be at least 1"}},
		{func() (regulators.Guard, error) { return regulators.HotKey(math.NaN(), 1) }, []string{"share of HotKey is NaN"}},
		{func() (regulators.Guard, error) { return regulators.HotKey(1, 1) }, []string{"share of HotKey is 1,"}},
		{func() (regulators.Guard, error) { return regulators.Rate(config{Burst: -1, MaxKeys: -2}) }, []string{
			"PerSecond of Rate is 0, must be finite and above 0", "Burst of Rate is -1, must be at least 1", "MaxKeys of Rate is -2, must be at least 1",
		}},
		{func() (regulators.Guard, error) { return regulators.Rate(config{PerSecond: math.NaN()}) }, []string{"PerSecond of Rate is NaN"}},
		{func() (regulators.Guard, error) { return regulators.Rate(config{PerSecond: math.Inf(1)}) }, []string{"PerSecond of Rate is +Inf"}},
		{func() (regulators.Guard, error) { return regulators.Rate(config{PerSecond: 1, Burst: math.MaxInt64}) }, []string{"Burst of Rate is 9223372036854775807"}},
	} {
		g, err := tc.build()
		for _, want := range tc.want {
			if g != nil || err == nil || !strings.Contains(err.Error(), "regulators: "+want) {
				t.Errorf("%v, %v, want an error with %q", g, err, want)
			}
		}
	}
}

// guards are all that are built in, small enough to refuse soon.
func guards(t testing.TB) map[string]regulators.Guard {
	return map[string]regulators.Guard{
		"InflightBytes": guard(t)(regulators.InflightBytes(8)),
		"HotKey":        guard(t)(regulators.HotKey(0.25, 4)),
		"Rate":          guard(t)(regulators.Rate(regulators.RateConfig{PerSecond: 1, Burst: 8})),
	}
}

func TestGuardsRefuseNegative(t *testing.T) {
	for name, g := range guards(t) {
		for _, n := range []int64{-1, math.MinInt64} {
			if err := g.Enter(epoch, "a", n); err == nil {
				t.Errorf("%s let %d in", name, n)
			}
		}
		if err := g.Enter(epoch, "a", 8); err != nil {
			t.Errorf("%s after it: %v", name, err)
		}
	}
}

// Neither way allocates for a key that is known, whatever its length.
func TestGuardsDoNotAllocate(t *testing.T) {
	key := strings.Repeat("k", 64<<10)
	for name, g := range guards(t) {
		now, refused := epoch, 0
		if got := testing.AllocsPerRun(1000, func() {
			now = now.Add(time.Second)
			if g.Enter(now, key, 1) == nil {
				g.Exit(key, 1)
			}
		}); got != 0 {
			t.Errorf("%s, let in: %v allocations", name, got)
		}
		for range 8 {
			_ = g.Enter(now, key, 1)
		}
		if got := testing.AllocsPerRun(1000, func() {
			if g.Enter(now, key, 1) != nil {
				refused++
			}
		}); got != 0 || refused < 1000 {
			t.Errorf("%s, refused %d times: %v allocations", name, refused, got)
		}
	}
}

// A caller who makes up names (case B16) gains nothing and leaves nothing behind.
func TestGuardsUnderMadeUpNames(t *testing.T) {
	g := guard(t)(regulators.Rate(regulators.RateConfig{PerSecond: 1, Burst: 5, MaxKeys: 1000}))
	hot := guard(t)(regulators.HotKey(0.25, 4))
	padding := strings.Repeat("x", 1000)
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, passed := live(), 0
	const names = 200_000
	for i := range names {
		now, key := epoch.Add(time.Duration(i)*10*time.Microsecond), padding+strconv.Itoa(i)
		if g.Enter(now, key, 1) == nil {
			passed++
		}
		if hot.Enter(now, key, 1) == nil {
			hot.Exit(key, 1)
		}
	}
	// A first one for each of the thousand places, and what the shared bucket lets through in 2 s.
	if passed < 1000 || passed > 1000+5+3 {
		t.Errorf("%d of %d made-up names passed, want 1,000 and some", passed, names)
	}
	if grown := int64(live()) - int64(before); grown > 2<<20 {
		t.Errorf("%d bytes are left of %d names", grown, names)
	}
	runtime.KeepAlive(g)
	runtime.KeepAlive(hot)
}

// From many goroutines: the bound of bytes is never passed, and all is given back.
func TestGuardsConcurrently(t *testing.T) {
	const most = 100
	bytes := guard(t)(regulators.InflightBytes(most))
	hot := guard(t)(regulators.HotKey(0.25, 4))
	rate := guard(t)(regulators.Rate(regulators.RateConfig{PerSecond: 100, MaxKeys: 4}))
	var inflight atomic.Int64
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(worker)))
			for i := range 2000 {
				now, key, n := epoch.Add(time.Duration(i)*time.Millisecond), strconv.Itoa(r.IntN(6)), 1+r.Int64N(40)
				_ = rate.Enter(now, key, 1)
				if bytes.Enter(now, key, n) != nil {
					continue
				}
				if sum := inflight.Add(n); sum > most {
					t.Errorf("%d bytes in flight", sum)
				}
				if hot.Enter(now, key, n) == nil {
					runtime.Gosched()
					hot.Exit(key, n)
				}
				inflight.Add(-n)
				bytes.Exit(key, n)
			}
		})
	}
	wg.Wait()
	if err := bytes.Enter(epoch, "", most); err != nil {
		t.Errorf("not all was given back: %v", err)
	}
	// With nothing in flight one key may have it all, up to the floor.
	for i := range 4 {
		if err := hot.Enter(epoch, "0", 1); err != nil {
			t.Errorf("request %d of a key alone: %v", i, err)
		}
	}
}
