package report

import "time"

// Names of the arms that the load test itself runs. An arm of any other name
// is shown under that name.
const (
	ArmOff    = "off"    // the service without Spillway
	ArmOn     = "on"     // the same service behind Spillway
	ArmTarget = "target" // a service that was started by somebody else
)

// Report is one load test: its conditions and what each arm did. Its zero
// value is an empty report, which all writers accept. The writers only read
// it, so several may run at once as long as nobody changes it.
type Report struct {
	CapacityRPS       float64 `json:"capacity_rps"`         // requests/s; 0: not known
	DeadlineMS        float64 `json:"deadline_ms"`          // the clients' deadline; 0: none
	Seed              uint64  `json:"seed"`                 // of arrivals and request mix
	GeneratorLagP99MS float64 `json:"generator_lag_p99_ms"` // worst of the points': actual minus intended send time
	Arms              []Arm   `json:"arms"`

	StartedAt time.Time `json:"started_at,omitzero"`
	GoVersion string    `json:"go_version,omitempty"`
	Customers int       `json:"customers,omitempty"` // of the load test's own service: fewer make its requests dearer
	Note      string    `json:"note,omitempty"`      // for the reader, such as why a run ended early
}

// Arm is one way of running the service, at every load that was offered.
type Arm struct {
	Name   string  `json:"name"`   // unique in its report
	Points []Point `json:"points"` // by rising X
}

// Point is one offered load, held for a while. Counts are of requests sent in
// that time, each counted once: Offered = Good + Shed + Failed.
type Point struct {
	X          float64 `json:"x"`           // intended load, in multiples of capacity
	OfferedRPS float64 `json:"offered_rps"` // sent per second
	GoodputRPS float64 `json:"goodput_rps"` // answered with success within the deadline, per second

	// Latency of admitted requests, from the intended send time: a late
	// generator or a stalled service cannot hide. Nil when none was admitted.
	AdmittedP50MS *float64 `json:"admitted_p50_ms"`
	AdmittedP99MS *float64 `json:"admitted_p99_ms"`

	Offered  int `json:"offered"`
	Good     int `json:"good"`
	Admitted int `json:"admitted"` // not shed, whatever became of them
	Shed     int `json:"shed"`     // answered 503 or 429
	Failed   int `json:"failed"`   // all else: late, timed out, other errors

	Tiers      map[string]Tally `json:"tiers"`   // by tier, "t0" to "t5"
	Tenants    map[string]Tally `json:"tenants"` // by tenant
	Reasons    map[string]int   `json:"reasons"` // shed requests by the reason they were told
	RetryAfter RetryAfter       `json:"retry_after_s"`

	// What the service used. Nil where it cannot be asked.
	GoroutinesPeak *int     `json:"goroutines_peak"`
	HeapPeakBytes  *int64   `json:"heap_peak_bytes"`
	CPUSeconds     *float64 `json:"cpu_s"` // over the whole point

	DurationS float64 `json:"duration_s"` // how long the load was held
	LagP99MS  float64 `json:"lag_p99_ms"` // the generator's lag at this point
	Valid     bool    `json:"valid"`      // false: the generator lagged, or the machine was too fast or slow, for the point to be trusted

	// The machine's speed, where it was gauged. Slices of the point's time at which it was too far from that
	// of the capacity's measurement are not counted, nor part of DurationS.
	LeftOut float64   `json:"left_out"`         // their share of the time, 0 to 1
	Speed   *float64  `json:"speed"`            // mean of what is counted, as a multiple of that of the capacity's measurement; nil: not gauged
	Speeds  []float64 `json:"speeds,omitempty"` // of the slices that are counted, in the order of time
}

// capacity is what the service could do at the speed that the machine had at p, in requests/s; 0: not known.
func (r Report) capacity(p Point) float64 {
	if p.Speed == nil {
		return r.CapacityRPS
	}
	return r.CapacityRPS * *p.Speed
}

// Share is the goodput of one of r's points as a share of the capacity at the speed that the machine had then. It is 0
// where no capacity is known.
func (r Report) Share(p Point) float64 {
	if c := r.capacity(p); c > 0 {
		return p.GoodputRPS / c
	}
	return 0
}

// Tally counts the requests of one tier or tenant. Those neither good nor
// shed have failed.
type Tally struct {
	Offered int `json:"offered"`
	Good    int `json:"good"`
	Shed    int `json:"shed"`
}

// RetryAfter sums up the retry hints that shed clients were given, in seconds.
// Without any, Min and Max are nil. Distinct is how many different values were
// seen: one only means that all clients were told to come back together.
type RetryAfter struct {
	Min      *float64 `json:"min"`
	Max      *float64 `json:"max"`
	Distinct int      `json:"distinct"`
}
