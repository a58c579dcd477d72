package scorecard

import (
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestOther: with room for two, the third and fourth share the other bucket
// until a Sweep makes room.
func TestOther(t *testing.T) {
	c := card(t, "r: tenant:* = 1", "acme: op:write = 9")
	c.SetMaxTenants(2)
	holds := hold(t, c, "tenant:a", 1)
	holds = append(holds, hold(t, c, "tenant:b op:write", 1)...) // without * takes no room
	holds = append(holds, hold(t, c, "tenant:c", 1)...)
	_, err := c.Acquire(tagsOf("tenant:d"))
	checkVerdict(t, err, "r") // shares its counter with c
	if n := c.Counts()[0]; n.Held != 3 || n.OtherHeld != 1 || n.Distinct != 2 || n.Refused != 1 {
		t.Errorf("got %+v", n)
	}
	if top := c.Top(1)[0]; top != (TenantCount{"r", "(other)", 1, 1}) {
		t.Errorf("top is %+v", top)
	}

	holds[0].Release() // a is idle, yet was used since the last Sweep
	for i, want := range []string{"r", "r", ""} {
		h, err := c.Acquire(tagsOf("tenant:d"))
		checkVerdict(t, err, want)
		h.Release()
		c.Sweep(t0.Add(time.Duration(i) * time.Second))
		checkCard(t, c)
	}
	release(holds)
	checkQuiet(t, c)

	// Lowered below what is there: nothing is lost, nothing new begins.
	holds = hold(t, c, "tenant:b", 1)
	c.SetMaxTenants(1)
	c.Sweep(t0.Add(1 * time.Hour))
	c.Sweep(t0.Add(2 * time.Hour))
	if n := c.Counts()[0]; n.Held != 1 || n.Distinct != 1 {
		t.Errorf("got %+v", n)
	}
	release(holds)
	c.SetMaxTenants(0)
	release(hold(t, c, "tenant:e", 1))
	if n := c.Counts()[0]; n.Distinct != 2 {
		t.Errorf("with the default bound: got %+v", n)
	}
	checkQuiet(t, c)
}

// TestSweep is a timeline: what is used at a time, and how many values are
// known after the Sweep then.
func TestSweep(t *testing.T) {
	c := card(t, "r: tenant:* = 9")
	var kept []Hold
	for _, step := range []struct {
		at   time.Duration
		use  string
		keep string // held from then on
		want int
	}{
		{0, "tenant:a", "", 1},
		{1, "tenant:b", "tenant:c", 2}, // a has gone
		{1, "", "", 2},                 // no time has passed
		{0, "", "", 2},                 // the clock stepped back: none has either,
		{1, "", "", 1},                 // but it goes on from there; b has gone
		{1e9, "", "", 1},               // c is held, however long
		{1e9 + 1, "tenant:d", "", 2},   //
		{5, "", "", 2},                 // a large step back costs one Sweep
		{6, "", "", 1},
	} {
		if step.use != "" {
			release(hold(t, c, step.use, 1))
		}
		if step.keep != "" {
			kept = append(kept, hold(t, c, step.keep, 1)...)
		}
		c.Sweep(t0.Add(step.at))
		checkCard(t, c)
		if got := c.Counts()[0].Distinct; got != step.want {
			t.Errorf("at %v: %d known, want %d", step.at, got, step.want)
		}
	}
	release(kept)
	checkQuiet(t, c)
	// A hold given back counts as use.
	for i, want := range []int{1, 0} {
		c.Sweep(t0.Add(time.Hour + time.Duration(i)))
		if got := c.Counts()[0].Distinct; got != want {
			t.Errorf("sweep %d after the last release: %d known, want %d", i, got, want)
		}
	}
}

// A million names, each sent once, and those that are kept as parts of large
// strings, meet the bound; a tenant known before them keeps its count and its cap.
func TestMillionNames(t *testing.T) {
	c := card(t, "tenants: tenant:* = 10", "ops: tenant:*;op:* = 10")
	holds := hold(t, c, "tenant:acme op:write", 5)
	before := heap()
	for i := range 1_000_000 {
		name := strconv.Itoa(i)
		if i < 2*defaultMax {
			name = (name + padding)[:len(name)]
		}
		h, err := c.Acquire([]Tag{{"tenant", name}, {"op", "write"}})
		if err != nil {
			t.Fatal(err)
		}
		h.Release()
	}
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if c.mu.table.len != defaultMax {
		t.Errorf("%d values known, want %d", c.mu.table.len, defaultMax)
	}
	if got := c.Top(1)[0]; got.Value != "acme" && got.Value != "acme;write" || got.Held != 5 {
		t.Errorf("top is %+v", got)
	}
	holds = append(holds, hold(t, c, "tenant:acme op:write", 5)...)
	_, err := c.Acquire(tagsOf("tenant:acme op:write"))
	checkVerdict(t, err, "tenants")
	release(holds)
	c.Sweep(t0)
	c.Sweep(t0.Add(1))
	if c.mu.table.len != 0 {
		t.Errorf("%d values known after two sweeps of an idle card", c.mu.table.len)
	}
	checkQuiet(t, c)
}

var padding = strings.Repeat("x", 2000)

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// Huge, and very many, tags.
func TestLargeRequests(t *testing.T) {
	c := card(t, "r: tenant:* = 1")
	long := strings.Repeat("x", 64<<10)
	h, err := c.Acquire([]Tag{{"tenant", long}})
	checkVerdict(t, err, "")
	_, err = c.Acquire([]Tag{{"tenant", "y" + long}})
	checkVerdict(t, err, "r")
	h.Release()
	if n := c.Counts()[0]; n.Distinct != 0 {
		t.Errorf("a long value is kept: %+v", n)
	}
	h, err = c.Acquire(append(make([]Tag, 1_000_000), Tag{"tenant", "acme"}))
	checkVerdict(t, err, "")
	h.Release()
	checkQuiet(t, c)
}

func TestAllocs(t *testing.T) {
	c := card(t, tenRules...)
	c.SetLimit("write", 100)
	for _, tags := range [][]Tag{eightTags("acme"), eightTags("umbrella"), eightTags("free-1"), eightTags("hooli"), eightTags(""), eightTags(padding), nil} {
		allocs := testing.AllocsPerRun(100, func() {
			h, err := c.Acquire(tags)
			if err != nil {
				t.Fatal(err)
			}
			h.Release()
		})
		if allocs != 0 {
			t.Errorf("%.20q: %v allocations", tags, allocs)
		}
	}
	holds := hold(t, c, "tenant:umbrella op:scan", 2)
	tags := tagsOf("tenant:umbrella op:scan")
	if allocs := testing.AllocsPerRun(100, func() {
		if _, err := c.Acquire(tags); err == nil {
			t.Fatal("admitted over the cap")
		}
	}); allocs != 0 {
		t.Errorf("a refusal: %v allocations", allocs)
	}
	release(holds)
	// Tags made for the call stay on the stack.
	if allocs := testing.AllocsPerRun(100, func() {
		h, _ := c.Acquire([]Tag{{"tenant", "acme"}, {"op", "read"}})
		h.Release()
	}); allocs != 0 {
		t.Errorf("tags made for the call: %v allocations", allocs)
	}
	checkQuiet(t, c)
}

// A value whose hash is that of another gets a counter of its own.
func TestCollision(t *testing.T) {
	c := card(t, "r: tenant:* = 1")
	holds := hold(t, c, "tenant:a", 1)
	holds[0].counters[0].values[0] = "b" // as if b hashed as a does
	c.mu.forget()
	holds = append(holds, hold(t, c, "tenant:a", 1)...)
	if n := c.Counts()[0]; n.Held != 2 || n.Distinct != 2 {
		t.Errorf("got %+v", n)
	}
	release(holds)
	checkQuiet(t, c)
}
