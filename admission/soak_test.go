package admission

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// What a soak is told stands after the package:
//
//	go test -race -run Soak -timeout 20m ./admission -soak 10m -soak.seed 7
var (
	soakFor  = flag.Duration("soak", 3*time.Second, "how long TestSoak goes on, in rounds")
	soakSeed = flag.Uint64("soak.seed", 0, "seed of TestSoak's first round, later ones have the next; 0: drawn")
)

// Everything at once, in real time and parallel. In each round a controller is opened;
// lanes come and go, modes switch, limits, rules and regulators move, wrong configs are
// refused; signals fail, hang, panic and lie; callers bring deadlines of any kind and
// leave; work panics or ends its goroutine, tickets are released late, twice and from
// elsewhere, with any outcome. It is closed midway, or when all is quiet. Then nothing
// may be left, and the counters must be what the callers saw.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, and tells nothing that the run without -short does not")
	}
	seed := *soakSeed
	if seed == 0 {
		seed = 1 + rand.Uint64N(1e9)
	}
	var sum soakSum
	var live []uint64 // bytes, after each round
	for begin := time.Now(); time.Since(begin) < *soakFor; seed++ {
		x := rand.New(rand.NewPCG(seed, 0)).Float64()
		lasts := 300*time.Millisecond + time.Duration(x*x*x*float64(*soakFor)/12)
		soakRound(t, seed, lasts, &sum)
		runtime.GC()
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		live = append(live, mem.HeapAlloc)
		if n := len(live); n > 3 && live[n-1] > 2*max(live[0], live[1], live[2])+2<<20 {
			t.Errorf("%d bytes are live after round %d: %v", live[n-1], n, live)
		}
		if t.Failed() {
			t.Fatalf("in round %d, %v long: -soak.seed %d begins with it", len(live), lasts, seed)
		}
	}
	t.Logf("%d rounds, %d requests, %d bytes live after the first and %d after the last, %d at most in between",
		len(live), sum.requests, live[0], live[len(live)-1], sum.heap)
	for r, n := range sum.shed {
		t.Logf("%d shed for %v", n, Reason(r))
		if n == 0 && *soakFor >= 30*time.Second {
			t.Error("no storm")
		}
	}
}

// soakSum adds up the rounds.
type soakSum struct {
	requests, heap uint64
	shed           [NumReasons]uint64
}

// maxSoakHeap is what may be live in the midst of a round, in bytes, whatever came before:
// some 50 requests, 4,000 slots at most and the last minutes of five lanes.
const maxSoakHeap = 32 << 20

// fate is what became of a request, as far as its caller can tell.
type fate int

const (
	uncounted fate = iota // exempt, in mode off, wrong, or its stage panicked
	admitted
	refused
	left
	unsure // a panic came instead of an answer, or it ran in a mode that may have been off
	numFates
)

// soak is one round.
type soak struct {
	*soakParts
	t        *testing.T
	c        *Controller
	lull     atomic.Bool
	requests atomic.Uint64
	heap     uint64                  // look's: most that was live
	fates    [numFates]atomic.Uint64 // in lane "default", which no config removes
}

const soakWorkers = 48

func soakRound(t *testing.T, seed uint64, lasts time.Duration, sum *soakSum) {
	bystanders := goleak.IgnoreCurrent()
	rng := rand.New(rand.NewPCG(seed, 1))
	s := &soak{t: t, soakParts: newSoakParts(rng)}
	c, err := New(s.config(rng), s.options()...)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	s.c = c
	s.ctrl.Store(c)
	var wg sync.WaitGroup
	for i := range soakWorkers {
		wg.Go(func() { s.work(rand.New(rand.NewPCG(seed, uint64(i+100)))) })
	}
	wg.Go(func() { s.own(rand.New(rand.NewPCG(seed, 2)), lasts) })
	wg.Go(func() { s.look(rand.New(rand.NewPCG(seed, 3))) })
	time.Sleep(lasts)
	closeMidway := rng.IntN(2) == 0
	if closeMidway {
		s.close()
		time.Sleep(100 * time.Millisecond)
	}
	s.stop.Store(true)
	ended := make(chan struct{})
	go func() { wg.Wait(); s.late.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		buf := make([]byte, 1<<22)
		t.Fatalf("seed %d: somebody never came back\n%s", seed, buf[:runtime.Stack(buf, true)])
	}
	s.check()
	if !closeMidway {
		ValidateSlots(t, c)
		s.close()
	}
	ValidateQuiet(t, c)
	s.checkParts(t)
	close(s.hang)
	for range 10 { // each looks for about a second
		if err = goleak.Find(bystanders); err == nil {
			break
		}
	}
	if err != nil {
		t.Error(err)
	}
	sum.requests += s.requests.Load()
	sum.heap = max(sum.heap, s.heap)
	for _, l := range c.Stats().Lanes {
		for _, tier := range l.Tiers {
			for r, n := range tier.Shed {
				sum.shed[r] += n
			}
		}
	}
}

// soakOwn is the op of the round's own request, whose hooks behave.
const soakOwn = "own"

// close ends the controller within the second that hanging signals have, and a lot.
func (s *soak) close() {
	begin, hung := time.Now(), s.hung.Load()
	if err := s.c.Close(); err != nil && hung == 0 && s.hung.Load() == 0 {
		s.t.Errorf("Close: %v, though no signal hangs", err)
	}
	if took := time.Since(begin); took > 15*time.Second {
		s.t.Errorf("Close took %v", took)
	}
	if only(s.t, s.c).Mode != Enforce {
		return
	}
	if _, err := s.c.TryAdmit(context.Background(), Request{Op: soakOwn}); !errors.Is(err, ErrClosed) {
		s.t.Errorf("after Close: %v", err)
	}
	s.fates[refused].Add(1)
}

// check compares the counters of the lane "default" with what its callers saw.
func (s *soak) check() {
	var got TierStats
	for _, tier := range only(s.t, s.c).Tiers {
		got.Arrived += tier.Arrived
		got.Admitted += tier.Admitted
		got.Left += tier.Left
	}
	shed := shed(only(s.t, s.c))
	saw := func(f fate) uint64 { return s.fates[f].Load() }
	doubt := saw(unsure)
	for _, n := range []struct {
		what      string
		got, seen uint64
	}{
		{"arrived", got.Arrived, saw(admitted) + saw(refused) + saw(left)},
		{"admitted", got.Admitted, saw(admitted)},
		{"shed", shed, saw(refused)},
		{"left", got.Left, saw(left)},
	} {
		if n.got < n.seen || n.got > n.seen+doubt {
			s.t.Errorf("%d are counted as %s, callers saw %d and are in doubt of %d", n.got, n.what, n.seen, doubt)
		}
	}
	if !s.wild && !s.off && doubt > 0 {
		s.t.Errorf("%d callers are in doubt in a round without panics", doubt)
	}
}

// own changes the config all the time, and has everybody rest for once if there is time
// for the lanes to fall asleep.
func (s *soak) own(rng *rand.Rand, lasts time.Duration) {
	begin, rested := time.Now(), lasts < 30*time.Second
	for !s.stop.Load() {
		before := s.c.Config()
		cfg := s.config(rng)
		wrong := rng.IntN(5) == 0
		if wrong {
			spoil(rng, &cfg)
		}
		err := s.c.Apply(cfg)
		switch {
		case wrong && err == nil:
			s.t.Errorf("a wrong config was applied: %+v", cfg)
		case wrong && !sameConfig(before, s.c.Config()):
			s.t.Error("a config that was refused left its traces")
		case !wrong && err != nil && !errors.Is(err, ErrClosed):
			s.t.Errorf("a valid config was refused: %v", err)
		}
		time.Sleep(time.Duration(rng.ExpFloat64() * float64(30*time.Millisecond)))
		if !rested && time.Since(begin) > lasts/3 {
			rested = true
			s.lull.Store(true)
			time.Sleep(sleepAfter + 3*time.Second)
			s.lull.Store(false)
		}
	}
}

// look reads everything; whatever it sees must add up at any moment.
func (s *soak) look(rng *rand.Rand) {
	for !s.stop.Load() {
		time.Sleep(time.Duration(rng.IntN(10)) * time.Millisecond)
		switch rng.IntN(6) {
		case 0:
			ctx, cancel := soakContext(rng)
			s.c.Explain(ctx, soakRequest(rng))
			cancel()
		case 1:
			s.c.Recent()
		case 2:
			if r := s.c.LoadReport(); !(r.Utilization > 0) || !(r.QPS >= 0) || !(r.EPS >= 0) {
				s.t.Errorf("load report %+v", r)
			}
		case 3:
			live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
			metrics.Read(live)
			if s.heap = max(s.heap, live[0].Value.Uint64()); s.heap > maxSoakHeap {
				s.t.Errorf("%d bytes are live", s.heap)
			}
		default:
			for _, l := range s.c.Stats().Lanes {
				s.adds(l)
			}
		}
	}
}

// adds checks a lane's snapshot. Ghosts that wait are admitted already.
func (s *soak) adds(l LaneStats) {
	for i, tier := range l.Tiers {
		settled := tier.Admitted + tier.Left
		for _, n := range tier.Shed {
			settled += n
		}
		if tier.Arrived < settled || tier.Arrived > settled+uint64(l.Queued[i]) {
			s.t.Errorf("lane %s, t%d: %d arrived, %d settled, %d wait", l.Name, i, tier.Arrived, settled, l.Queued[i])
		}
	}
	if l.Inflight < 0 || l.Overrun < 0 || l.Limit < 1 || !(l.ShedRatio >= 0 && l.ShedRatio < 1) {
		s.t.Errorf("lane %s: inflight %d, overrun %d, limit %d, ratio %v", l.Name, l.Inflight, l.Overrun, l.Limit, l.ShedRatio)
	}
}
