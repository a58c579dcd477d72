package admission

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
)

// RegulatorConfig binds a signal, a keyed signal or a guard to lanes. A field that
// does not concern what it binds has no effect, but that By of a signal and Counts
// of anything but a guard are errors.
type RegulatorConfig struct {
	// Kind names a built-in regulator of package regulators: goroutines (its Limit is
	// how many are pressure 1), heap (Limit in bytes, at least 4 MiB; 0: the process's
	// own), cpu, gc, psi-cpu, psi-memory and psi-io (Limit is a share of the time,
	// above 0), sched-latency (its Target is how long a goroutine may wait for a
	// processor); and the guards bytes (Limit is how many may be in flight), heap-cut
	// (Limit as that of heap), hot-key (Limit is the share that one key may hold while
	// Floor or more is held in all) and rate (Limit is how much each tenant may take a
	// second). Empty: the entry's name is that of a regulator brought in by an option.
	// A kind that this machine cannot read is an error of New and Apply.
	Kind string `json:"kind,omitempty"`
	// Limit is what a kind measures against, in its own unit.
	Limit float64 `json:"limit,omitempty"`
	// Floor is below which a hot-key holds nobody back.
	Floor int64 `json:"floor,omitempty"`
	// Target is what a kind measures against that measures time.
	Target time.Duration `json:"target,omitempty"`

	// Shadow puts it on trial: it is polled or asked, and its stats tell what it
	// would ask for, but nobody is shed for it. What it would have refused does not
	// count as taken. A pressure that shedding would bring down stays where it is, so
	// that its ratio tells that something would be shed, not how much in the end.
	Shadow bool `json:"shadow,omitempty"`

	// Lanes it acts on. Empty: all.
	Lanes []string `json:"lanes,omitempty"`
	// By is whose name a keyed signal's pressures and a guard go by: tenant,
	// caller or key. Zero: tenant for a keyed signal and a rate, key for a hot-key.
	// A guard without it is told the key and its refusals have reason regulator,
	// this replica is full; with it they have reason keyed, this actor is too much.
	By string `json:"by,omitempty"`
	// Counts is what a guard is told of each request: requests (that is 1), cost
	// (the slots it takes, Request.Cost or what was learned) or bytes
	// (Request.Bytes). Zero: requests; bytes for the kind bytes.
	Counts string `json:"counts,omitempty"`

	// Setpoint is the pressure to hold: the PID acts on pressure over Setpoint,
	// less one. Zero: 1.
	Setpoint float64 `json:"setpoint"`
	// KP and KI are the PID's gains, on an error held within -1 and 1 and in effort,
	// -ln(1-shed ratio): per error, and per error and second. Zero: 0.1 and 1.4, for
	// a pressure that follows what passes within a second or so. What piles up
	// instead (a lag, a backlog, a heap) swings for half a minute with those; 1 and
	// 0.2 hold it within seconds. At most 100.
	KP float64 `json:"kp,omitempty"`
	KI float64 `json:"ki,omitempty"`
	// Period between polls, give or take 10 %. Zero: 500 ms.
	Period time.Duration `json:"period"`
	// Timeout of one poll. Zero: the period.
	Timeout time.Duration `json:"timeout"`
	// MaxAge is how old a reading may be before it counts as none. Zero:
	// three periods, or two and the timeout. At least two periods.
	MaxAge time.Duration `json:"max_age"`
	// OnStale says what follows when it is older: ignore asks for nothing from
	// then on, hold keeps the ratio for HoldFor. Zero: ignore.
	OnStale string `json:"on_stale,omitempty"`
	// HoldFor is how long hold holds: a source that has died must not shed for
	// ever. Zero: a minute.
	HoldFor time.Duration `json:"hold_for,omitempty"`
}

const (
	byTenant, byCaller, byKey           = "tenant", "caller", "key"
	countRequests, countCost, countSize = "requests", "cost", "bytes"
	staleIgnore, staleHold              = "ignore", "hold"

	defaultPeriod  = 500 * time.Millisecond
	defaultHoldFor = time.Minute
	minSignalTime  = 10 * time.Millisecond
	maxSignalTime  = 24 * time.Hour
	maxGain        = 100
)

func (r RegulatorConfig) withDefaults() RegulatorConfig {
	if k := kinds[r.Kind]; k.guard {
		r.By, r.Counts = cmp.Or(r.By, k.by), cmp.Or(r.Counts, k.counts)
	}
	if r.Setpoint == 0 {
		r.Setpoint = 1
	}
	if r.KP == 0 {
		r.KP = core.SignalKP
	}
	if r.KI == 0 {
		r.KI = core.SignalKI
	}
	if r.Period == 0 {
		r.Period = defaultPeriod
	}
	if r.Timeout == 0 {
		r.Timeout = r.Period
	}
	if r.MaxAge == 0 {
		r.MaxAge = max(3*r.Period, 2*r.Period+r.Timeout)
	}
	if r.OnStale == staleHold && r.HoldFor == 0 {
		r.HoldFor = defaultHoldFor
	}
	return r
}

func (r RegulatorConfig) signal() core.SignalConfig {
	return core.SignalConfig{Setpoint: r.Setpoint, KP: r.KP, KI: r.KI}
}

func (v *problems) regulator(name string, r RegulatorConfig, lanes map[string]LaneConfig) {
	at := fmt.Sprintf("regulators[%q]", name)
	if r.Kind != "" {
		v.kind(at, r)
	}
	v.lanes(at, r.Lanes, lanes)
	v.oneOf(at+".by", r.By, byTenant, byCaller, byKey)
	v.oneOf(at+".counts", r.Counts, countRequests, countCost, countSize)
	v.oneOf(at+".on_stale", r.OnStale, staleIgnore, staleHold)
	if !(r.Limit >= 0) || math.IsInf(r.Limit, 1) {
		v.add(at+".limit", r.Limit, "must be a finite number of at least 0")
	}
	if !(r.Setpoint >= 0) || math.IsInf(r.Setpoint, 1) {
		v.add(at+".setpoint", r.Setpoint, "must be a finite number above 0 (0: 1)")
	}
	for _, f := range []struct {
		name string
		gain float64
	}{{"kp", r.KP}, {"ki", r.KI}} {
		if !(f.gain >= 0 && f.gain <= maxGain) {
			v.add(at+"."+f.name, f.gain, "must be from 0 to 100 (0: the default)")
		}
	}
	for _, f := range []struct {
		name string
		d    time.Duration
	}{{"period", r.Period}, {"timeout", r.Timeout}, {"max_age", r.MaxAge}, {"hold_for", r.HoldFor}} {
		if f.d != 0 && (f.d < minSignalTime || f.d > maxSignalTime) {
			v.add(at+"."+f.name, f.d, "must be between 10ms and 24h")
		}
	}
	if r.HoldFor != 0 && r.OnStale != staleHold {
		v.add(at+".hold_for", r.HoldFor, "has no effect unless on_stale is hold")
	}
	// The period is jittered, so that of one period alone many readings are older.
	if d := r.withDefaults(); r.MaxAge > 0 && d.MaxAge/2 < d.Period {
		v.add(at+".max_age", d.MaxAge, "must be at least two periods, "+(2*d.Period).String())
	}
}

// oneOf checks a field that may be left out.
func (v *problems) oneOf(field, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		v.add(field, fmt.Sprintf("%.64q", value), "must be one of "+strings.Join(allowed, ", "))
	}
}

// bound checks what only the role tells: a name must stand for something, and only
// for one thing.
func (v *problems) bound(name string, rc RegulatorConfig, src source, brought bool, names []string) {
	at := fmt.Sprintf("regulators[%q]", name)
	k, builtIn := kinds[rc.Kind]
	switch {
	case brought && rc.Kind != "":
		v.add(at+".kind", fmt.Sprintf("%.64q", rc.Kind), "must be left out: one of that name was brought in by an option")
	case !brought && rc.Kind == "":
		*v = append(*v, &FieldError{
			Field: at, Rule: "must be of a name that WithSignal, WithKeyedSignal or WithGuard brings in, or have a kind", Known: names,
		})
	case !brought && !builtIn: // is Validate's to say
	default:
		guard := src.guard != nil || k.guard
		if rc.By != "" && !guard && src.keyed == nil {
			v.add(at+".by", rc.By, "a signal speaks for all; by is for keyed signals and guards")
		}
		if rc.Counts != "" && !guard {
			v.add(at+".counts", rc.Counts, "a signal counts nothing; counts is for guards")
		}
	}
}
