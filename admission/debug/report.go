package debug

import (
	"time"

	"github.com/spillway-go/spillway/admission"
)

// report is all that the page shows, in whichever format. The JSON names are a
// promise: fields may be added, none is renamed or changes its unit.
type report struct {
	At      time.Time      `json:"at"`
	Summary []statement    `json:"summary"`
	Mode    admission.Mode `json:"mode"`
	Closed  bool           `json:"closed"`
	Exempt  uint64         `json:"exempt"`
	Lanes   []laneReport   `json:"lanes"`
	Signals []signalReport `json:"signals"`
	Keyed   []keyedReport  `json:"keyed"`
	Guards  []guardReport  `json:"guards"`
	Rules   []ruleReport   `json:"rules"`
	Tenants []tenantReport `json:"tenants"`
	Sheds   []shedReport   `json:"sheds"`
	Config  configReport   `json:"config"`
	Explain *explainReport `json:"explain,omitempty"`
}

type laneReport struct {
	Name string         `json:"name"`
	Mode admission.Mode `json:"mode"`

	Limit     int     `json:"limit"`
	Inflight  int     `json:"inflight"`
	Peak      int     `json:"peak"`
	Overrun   int     `json:"overrun"`
	LimitWhy  string  `json:"limit_why"`
	Probing   bool    `json:"probing"`
	Resting   bool    `json:"resting"`
	BaselineS float64 `json:"baseline_s"`
	LatencyS  float64 `json:"latency_s"`
	MedianS   float64 `json:"median_s"`

	Queued        int     `json:"queued"`
	OldestWaiterS float64 `json:"oldest_waiter_s"`
	QueueCapacity int     `json:"queue_capacity"`
	QueueMode     string  `json:"queue_mode"`
	Pressure      float64 `json:"pressure"`

	ShedRatio      float64            `json:"shed_ratio"`
	Threshold      admission.Priority `json:"threshold"`
	Binding        string             `json:"binding"`
	ArrivalsPerS   float64            `json:"arrivals_per_s"`
	ThroughputPerS float64            `json:"throughput_per_s"`
	Demand         float64            `json:"demand"`

	Tiers   []tierReport   `json:"tiers"`
	Reasons []reasonReport `json:"reasons"`
	Early   uint64         `json:"early"`

	WaitP50S    float64 `json:"wait_p50_s"`
	WaitP99S    float64 `json:"wait_p99_s"`
	ServiceP50S float64 `json:"service_p50_s"`
	ServiceP99S float64 `json:"service_p99_s"`

	Points []point `json:"points"`
}

type tierReport struct {
	Tier         string            `json:"tier"`
	Queued       int               `json:"queued"`
	OfferedPerS  float64           `json:"offered_per_s"`
	AdmittedPerS float64           `json:"admitted_per_s"`
	ShedPerS     float64           `json:"shed_per_s"`
	Arrived      uint64            `json:"arrived"`
	Admitted     uint64            `json:"admitted"`
	Left         uint64            `json:"left"`
	Shed         uint64            `json:"shed"`
	WouldShed    uint64            `json:"would_shed"`
	Outcomes     map[string]uint64 `json:"outcomes"`
}

// reasonReport counts refusals for one reason, real ones and those of mode shadow.
type reasonReport struct {
	why    admission.Reason
	Reason string  `json:"reason"`
	PerS   float64 `json:"per_s"`
	Total  uint64  `json:"total"`
}

// point is a lane at one second of the last minutes; the rates are since the point
// before it.
type point struct {
	At           time.Time          `json:"at"`
	Limit        int                `json:"limit"`
	Inflight     int                `json:"inflight"`
	Queued       int                `json:"queued"`
	ShedRatio    float64            `json:"shed_ratio"`
	Threshold    admission.Priority `json:"threshold"`
	Binding      string             `json:"binding"`
	MedianS      float64            `json:"median_s"`
	OfferedPerS  float64            `json:"offered_per_s"`
	AdmittedPerS float64            `json:"admitted_per_s"`
	ShedPerS     float64            `json:"shed_per_s"`
}

type signalReport struct {
	Name     string        `json:"name"`
	Shadow   bool          `json:"shadow"`
	Setpoint float64       `json:"setpoint"`
	Pressure float64       `json:"pressure"`
	AgeS     float64       `json:"age_s"`
	Stale    bool          `json:"stale"`
	Misses   uint64        `json:"misses"`
	Error    string        `json:"error"`
	Ratio    float64       `json:"ratio"`
	P        float64       `json:"p"`
	I        float64       `json:"i"`
	D        float64       `json:"d"`
	Out      float64       `json:"out"`
	Points   []signalPoint `json:"points"`
}

type signalPoint struct {
	At       time.Time `json:"at"`
	Setpoint float64   `json:"setpoint"`
	Pressure float64   `json:"pressure"`
	Stale    bool      `json:"stale"`
}

type keyedReport struct {
	Name     string        `json:"name"`
	Shadow   bool          `json:"shadow"`
	By       string        `json:"by"`
	Setpoint float64       `json:"setpoint"`
	AgeS     float64       `json:"age_s"`
	Stale    bool          `json:"stale"`
	Misses   uint64        `json:"misses"`
	Error    string        `json:"error"`
	Pressed  int           `json:"pressed"`
	Over     int           `json:"over"`
	Shed     uint64        `json:"shed"`
	Top      []actorReport `json:"top"`
}

type actorReport struct {
	Key      string  `json:"key"`
	Pressure float64 `json:"pressure"`
	Ratio    float64 `json:"ratio"`
}

type guardReport struct {
	Name    string `json:"name"`
	Shadow  bool   `json:"shadow"`
	Refused uint64 `json:"refused"`
	Panics  uint64 `json:"panics"`
	Error   string `json:"error"`
}

type ruleReport struct {
	Rule      string `json:"rule"`
	Wild      bool   `json:"wild"` // counts each distinct value by itself
	Held      int    `json:"held"`
	Distinct  int    `json:"distinct"`
	OtherHeld int    `json:"other_held"`
	Admitted  uint64 `json:"admitted"`
	Refused   uint64 `json:"refused"`
	Shadowed  uint64 `json:"shadowed"`

	Top []tenantReport `json:"top"`
}

type tenantReport struct {
	Rule    string `json:"rule"`
	Value   string `json:"value"`
	Held    int    `json:"held"`
	Refused uint64 `json:"refused"`
}

type shedReport struct {
	At       time.Time          `json:"at"`
	Lane     string             `json:"lane"`
	Reason   string             `json:"reason"`
	Stage    string             `json:"stage"`
	Priority admission.Priority `json:"priority"`
	Tenant   string             `json:"tenant"`
	Caller   string             `json:"caller"`
	Op       string             `json:"op"`
	Key      string             `json:"key"`
	Cause    string             `json:"cause"`
	Shadow   bool               `json:"shadow"`
}

type configReport struct {
	Version  uint64    `json:"version"`
	Applied  time.Time `json:"applied"`
	Refused  uint64    `json:"refused"`
	Error    string    `json:"error"`
	Settings []setting `json:"settings"`
}

// setting is one field of the config in force.
type setting struct {
	Field   string `json:"field"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Changed bool   `json:"changed"`
}
