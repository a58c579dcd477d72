package admission

import (
	"context"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/codel"
	"github.com/spillway-go/spillway/scorecard"
)

// soakParts is what a service brings, and how it misbehaves.
type soakParts struct {
	wild bool // stages and hooks panic and end their callers' goroutines
	off  bool // mode off occurs, in which nothing is counted

	ctrl  atomic.Pointer[Controller] // for what calls back
	stop  atomic.Bool                // all behave well from now on
	late  sync.WaitGroup             // tickets that others release
	hang  chan struct{}              // closed: what hangs comes back
	hung  atomic.Int64
	first *stageFuncs // the one that panics: nothing was entered before it
	next  *stageFuncs
	guard soakGuard
}

const panicEnter = "enter"

func newSoakParts(rng *rand.Rand) *soakParts {
	p := &soakParts{wild: rng.IntN(2) == 0, off: rng.IntN(2) == 0, hang: make(chan struct{})}
	p.guard = soakGuard{soakParts: p, taken: map[string]int64{}}
	p.next = &stageFuncs{name: "next"}
	p.first = &stageFuncs{name: "first", enter: func(r *Request) error {
		switch rand.IntN(60) {
		case 0:
			return errMine
		case 1:
			return &ShedError{Reason: ReasonKeyed}
		case 2:
			r.Key, r.Bytes = "written by a stage", -r.Bytes
		case 3:
			p.ctrl.Load().Stats()
		case 4:
			p.misbehave(panicEnter)
		}
		return nil
	}, exit: func(*Request, Outcome) {
		if rand.IntN(60) == 0 {
			p.misbehave("exit")
		}
	}}
	return p
}

// misbehave panics, or ends the goroutine.
func (p *soakParts) misbehave(what string) {
	if p.wild && !p.stop.Load() {
		if rand.IntN(3) == 0 {
			runtime.Goexit()
		}
		panic(what)
	}
}

func (p *soakParts) options() []Option {
	back := func() {
		if c := p.ctrl.Load(); c != nil {
			c.Config()
			c.Stats()
		}
	}
	return []Option{
		WithStages(p.first, p.next), WithGuard("guard", &p.guard),
		WithSignal("lag", soakSignal{p}), WithKeyedSignal("actors", soakSignal{p}),
		WithLogger(slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug}))),
		WithHooks(Hooks{
			Admit: func(context.Context, Admission) { p.hooked() },
			Shed: func(_ context.Context, r Refusal) {
				if r.Request.Op != soakOwn {
					p.hooked()
				}
			},
			Limit: func(LimitMove) { back() },
			Gate:  func(GateEdge) { back() },
		}),
	}
}

func (p *soakParts) hooked() {
	if rand.IntN(100) == 0 {
		p.misbehave("hook")
	}
}

// checkParts: whatever was entered was left.
func (p *soakParts) checkParts(t *testing.T) {
	for _, s := range []*stageFuncs{p.first, p.next} {
		if s.entered != s.exited {
			t.Errorf("stage %s was entered %d times and left %d times", s.name, s.entered, s.exited)
		}
	}
	if len(p.guard.taken) > 0 {
		t.Errorf("the guard's are still %v", p.guard.taken)
	}
}

// soakGuard keeps a book of what was taken.
type soakGuard struct {
	*soakParts
	sync.Mutex
	taken map[string]int64
}

func (g *soakGuard) Enter(_ time.Time, key string, n int64) error {
	switch rand.IntN(80) {
	case 0:
		return errMine
	case 1:
		panic("guard")
	}
	g.add(key, n)
	return nil
}

func (g *soakGuard) Exit(key string, n int64) {
	g.add(key, -n)
	if rand.IntN(80) == 0 {
		panic("guard")
	}
}

func (g *soakGuard) add(key string, n int64) {
	g.Lock()
	defer g.Unlock()
	if g.taken[key] += n; g.taken[key] == 0 {
		delete(g.taken, key)
	}
}

// soakSignal steps between nothing and too much, and fails in every way.
type soakSignal struct{ *soakParts }

func (s soakSignal) Pressure(ctx context.Context) (float64, error) {
	switch rand.IntN(60) {
	case 0:
		return 0, errMine
	case 1:
		return math.NaN(), nil
	case 2:
		return math.Inf(1 - 2*rand.IntN(2)), nil
	case 3:
		return -1, nil
	case 4:
		return math.MaxFloat64, nil
	case 5:
		panic("signal")
	case 6:
		runtime.Goexit()
	case 7:
		<-ctx.Done()
		return 0, ctx.Err()
	case 8:
		if rand.IntN(10) == 0 {
			s.hung.Add(1)
			defer s.hung.Add(-1)
			<-s.hang // whatever its context says
		}
	}
	return 2 * float64(time.Now().UnixMilli()/300%2), nil
}

func (s soakSignal) Pressures(ctx context.Context) (map[string]float64, error) {
	all := map[string]float64{}
	for i := range rand.IntN(8) {
		p, err := s.Pressure(ctx)
		if err != nil {
			return nil, err
		}
		all[strconv.Itoa(i)] = p
	}
	return all, nil
}

// config draws one that is valid.
func (p *soakParts) config(rng *rand.Rand) Config {
	one := func(of ...string) string { return of[rng.IntN(len(of))] }
	mode := func() Mode {
		return []Mode{Enforce, Enforce, Enforce, Enforce, Enforce, Shadow, Off}[rng.IntN(6+map[bool]int{true: 1}[p.off])]
	}
	cfg := Config{Mode: mode(), Lanes: map[string]LaneConfig{}, Regulators: map[string]RegulatorConfig{}}
	names := []string{}
	for _, name := range []string{defaultLane, "a", "b", "c"} {
		if rng.IntN(3) == 0 {
			continue
		}
		names = append(names, name)
		l := LaneConfig{Mode: mode(), MaxCost: rng.IntN(2) * 5, Gate: GateConfig{Law: one("", "ff", "pid", "off")}}
		if l.Limit.Law = one("", "octave", "aimd", "gradient2", "vegas"); rng.IntN(2) == 0 {
			l.Limit = LimitConfig{Fixed: 1 + rng.IntN(12)}
		} else if rng.IntN(2) == 0 {
			l.Limit.Min, l.Limit.Max = 1+rng.IntN(3), 4+rng.IntN(30)
		}
		l.Queue.Law, l.Queue.Capacity = one("", codel.LawTight, codel.LawCoDel), rng.IntN(12)
		l.Deadline = []time.Duration{0, time.Millisecond, 20 * time.Millisecond, time.Hour}[rng.IntN(4)]
		cfg.Lanes[name] = l
	}
	some := func() (lanes []string) {
		for _, name := range names {
			if rng.IntN(2) == 0 {
				lanes = append(lanes, name)
			}
		}
		return lanes
	}
	cfg.Stages = map[string]StageConfig{"first": {Lanes: some()}, "next": {Lanes: some()}}
	cfg.Priorities.Callers = map[string]Priority{"1": T1.Priority(), "2*": T5.Priority()}
	times := RegulatorConfig{Period: 10 * time.Millisecond, Timeout: time.Duration(10+rng.IntN(20)) * time.Millisecond, OnStale: one("", staleIgnore, staleHold)}
	for _, name := range []string{"lag", "actors", "guard"} {
		r := times
		r.Lanes, r.Shadow, r.Setpoint = some(), rng.IntN(4) == 0, 0.5+rng.Float64()
		if name != "lag" {
			r.By = one("", byTenant, byCaller, byKey)
		}
		if name == "guard" {
			r.Counts = one("", countRequests, countCost, countSize)
		}
		cfg.Regulators[name] = r
	}
	for _, kind := range []RegulatorConfig{
		{Kind: "bytes", Limit: 1 << 20}, {Kind: "hot-key", Limit: 0.5, Floor: 4}, {Kind: "rate", Limit: 500}, {Kind: "goroutines", Limit: 40 + float64(rng.IntN(2))*1000, Period: 10 * time.Millisecond},
	} {
		if rng.IntN(3) == 0 {
			kind.Lanes, kind.Shadow = some(), rng.IntN(3) == 0
			cfg.Regulators["built-in "+kind.Kind] = kind
		}
	}
	few := &scorecard.Cap{N: 1}
	for i, rule := range []scorecard.Rule{
		{Match: "tenant:*", Cap: scorecard.Cap{N: 1 + rng.IntN(12)}, UnderPressure: few},
		{Match: "caller:*;lane:a", Cap: scorecard.Cap{Share: 0.3}},
		{Match: "tier:t5", Cap: scorecard.Cap{N: 6}},
		{Match: "zone:y", Cap: scorecard.Cap{}},
	} {
		if rng.IntN(2) == 0 {
			rule.Name, rule.Shadow = strconv.Itoa(i), rng.IntN(3) == 0
			cfg.Scorecard.Rules = append(cfg.Scorecard.Rules, rule)
		}
	}
	cfg.Scorecard.MaxTenants = rng.IntN(3) * 4
	return cfg
}

// spoil makes a config wrong.
func spoil(rng *rand.Rand, cfg *Config) {
	switch rng.IntN(6) {
	case 0:
		cfg.Mode = Off + 1
	case 1:
		cfg.Lanes["a"] = LaneConfig{Limit: LimitConfig{Min: 5, Max: 4}}
	case 2:
		cfg.Lanes["b"] = LaneConfig{Queue: codel.Config{Law: codel.LawCoDel, Target: 2, Interval: 1}}
	case 3:
		cfg.Regulators["lag"] = RegulatorConfig{Lanes: []string{"nowhere"}}
	case 4:
		cfg.Regulators["nobody's"] = RegulatorConfig{}
	case 5:
		cfg.Scorecard.Rules = append(cfg.Scorecard.Rules, scorecard.Rule{Name: "wrong", Match: "tenant"})
	}
}

func sameConfig(a, b Config) bool { return reflect.DeepEqual(a, b) }
