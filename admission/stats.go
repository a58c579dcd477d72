package admission

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/pid"
	"github.com/spillway-go/spillway/scorecard"
)

// Stats is what a controller has done and how it stands: each lane's part is
// one consistent snapshot. Counters only grow, but that Admitted goes back by
// one when a grant meets a caller who has left: within microseconds, before he
// was told.
type Stats struct {
	Mode    Mode
	Closed  bool // by Close: all but the exempt is refused
	Config  ConfigStats
	Exempt  uint64        // requests that were counted and nothing else
	Lanes   []LaneStats   // by name
	Signals []SignalStats // by name
	Keyed   []KeyedStats  // keyed signals, by name
	Guards  []GuardStats  // by name
	Rules   []scorecard.Count
	Tenants []scorecard.TenantCount // those refused most, then those that hold most
}

// LaneStats is a lane.
type LaneStats struct {
	Name string
	Mode Mode // in force: that of the config or of the lane, whichever sheds less

	Limit    int    // slots there are
	Inflight int    // slots taken
	Peak     int    // most slots taken in the last tens of milliseconds: short of what a scraper waits
	Overrun  int    // slots' worth of requests that run in shadow without a slot
	LimitWhy string // the limit's last decision
	Probing  bool   // the limit is lowered for a moment to measure the baseline
	Resting  bool   // nothing is granted for a while: all failed at the floor
	Baseline time.Duration
	Latency  time.Duration // geometric mean service time of the last window
	Median   time.Duration // median service time, the last ten seconds

	Queued        [NumTiers]int
	OldestWaiter  time.Duration
	QueueCapacity int
	QueueMode     string  // "FIFO" or "LIFO"
	Pressure      float64 // age of the oldest waiter over what a waiter may wait

	ShedRatio  float64  // share of arrivals that the gate is to shed; for signals alone while nobody waits and more than a quarter of the slots is free
	Threshold  Priority // worse priorities are shed, at it a part; zero: nobody is
	Binding    string   // what asks for the ratio: "queue" or a signal
	Arrivals   float64  // per second
	Throughput float64  // per second that the whole limit could let through
	Demand     float64  // on the lane as a multiple of what it can do, see LoadReport.Utilization

	Tiers   [NumTiers]TierStats
	Early   uint64    // of those shed, by Precheck: stage "tap"
	Wait    Histogram // of the admitted
	Service Histogram // of those that came out as a success; all are counted, of more than some 20,000 a second only a fair sample is timed
}

// TierStats counts a tier's requests: Arrived = Admitted + sum of Shed + Left +
// those that wait now.
type TierStats = core.TierCounters

// Histogram counts durations in buckets of at most a quarter octave.
type Histogram = core.Histogram

// SignalStats is a signal.
type SignalStats struct {
	Name     string
	Setpoint float64
	Shadow   bool          // its config says so: what it asks for is not applied
	Pressure float64       // the last reading
	Age      time.Duration // of it
	Stale    bool          // it is too old, or there is none: the signal asks for nothing, unless its config holds
	Misses   uint64        // polls without a reading
	Err      error         // of the last poll
	Ratio    float64       // shed ratio it asks for
	Terms    pid.Terms     // why: Terms.Out is -ln(1-Ratio)
}

// KeyedStats is a keyed signal.
type KeyedStats struct {
	Name     string
	By       string // tenant, caller or key
	Setpoint float64
	Shadow   bool          // its config says so: nobody is shed
	Age      time.Duration // of the last reading
	Stale    bool          // it is too old, or there is none: nobody is shed, unless the config holds
	Misses   uint64        // polls without a reading, or with one that is in part none
	Err      error         // of the last poll
	Pressed  int           // actors that are regulated
	Over     int           // actors above the setpoint for whom there is no room
	Shed     uint64        // requests, also those that only would have been
	Top      []ActorStats  // shed most
}

// ActorStats is one tenant, caller or key that a keyed signal presses.
type ActorStats struct {
	Key      string // as it came: escape it before showing it
	Pressure float64
	Ratio    float64 // share of his requests that is shed
}

// GuardStats is a guard.
type GuardStats struct {
	Name    string
	Shadow  bool   // its config says so: nobody is refused
	Refused uint64 // requests, also those that only would have been
	Panics  uint64 // of Enter and Exit
	Err     error  // of the last call, if it panicked
}

// topTenants is how many tenants Stats lists, and actors of a keyed signal.
const topTenants = 20

// Stats takes a snapshot. It locks one lane after the other, and the scorecard for
// some counters at a time, for about a microsecond each. Of many tenants it looks at
// all, 100,000 in some milliseconds: call it as often as a scraper would, not per
// request.
func (c *Controller) Stats() Stats {
	if c == nil {
		return Stats{Mode: Off}
	}
	c.LoadReport() // for the demand
	p := c.plan.Load()
	s := Stats{Mode: p.cfg.Mode, Closed: p.closed, Exempt: c.exempt.Load()}
	s.Rules, s.Tenants = c.card.Snapshot(topTenants)
	c.mu.Lock()
	lanes := c.mu.lanes
	s.Config = c.mu.config
	c.mu.Unlock()
	for _, l := range lanes {
		s.Lanes = append(s.Lanes, l.stats(c.now()))
	}
	for i := range p.signals {
		s.Signals = append(s.Signals, p.signals[i].stats())
	}
	for i := range p.keyed {
		s.Keyed = append(s.Keyed, p.keyed[i].stats())
	}
	for i := range p.guards {
		s.Guards = append(s.Guards, p.guards[i].stats())
	}
	return s
}

// Lane returns a lane's part; false if there is none of that name.
func (s Stats) Lane(name string) (LaneStats, bool) {
	for _, l := range s.Lanes {
		if l.Name == laneName(name) {
			return l, true
		}
	}
	return LaneStats{}, false
}

func (l *lane) stats(now time.Duration) LaneStats {
	var v core.View
	l.mu.Lock()
	l.mu.core.View(now, &v)
	early := l.mu.early
	l.mu.Unlock()
	s := LaneStats{
		Name: l.name, Mode: l.mode(),
		Limit: v.Limit, Inflight: v.Inflight, Peak: v.Peak, Overrun: v.Overrun,
		LimitWhy: v.LimitState.Why, Probing: v.LimitState.Probing, Resting: v.LimitState.Resting,
		Baseline: v.LimitState.Baseline, Latency: v.LimitState.Latency, Median: v.Median,
		Queued: v.Queued, QueueCapacity: v.Capacity, QueueMode: v.Mode.String(), Pressure: v.Pressure,
		ShedRatio: v.ShedRatio, Binding: v.Binding, Arrivals: v.Arrivals, Throughput: v.Throughput,
		Demand: math.Float64frombits(l.demand.Load()),
		Tiers:  v.Tiers, Wait: v.Wait, Service: v.Service, Early: early,
	}
	for _, age := range v.HeadAge {
		s.OldestWaiter = max(s.OldestWaiter, age)
	}
	if v.Threshold < core.NumRanks {
		s.Threshold = priorityOf(v.Threshold)
	}
	return s
}
