package sim

// Scenario is one experiment. Times are in seconds or milliseconds as their
// names say; [Load] and [Parse] return valid ones.
type Scenario struct {
	Name   string `json:"name,omitzero"`
	Family string `json:"family,omitzero"` // groups rows of a table

	DurationS    float64 `json:"duration_s,omitzero"`     // arrivals stop then
	MeasureFromS float64 `json:"measure_from_s,omitzero"` // requests that begin earlier do not count
	StepAtS      float64 `json:"step_at_s,omitzero"`      // the step whose settling is measured; 0: none
	CapacityRPS  float64 `json:"capacity_rps,omitzero"`   // the unit of Arrivals.Points; 0: not known, which a log allows
	Seed         uint64  `json:"seed,omitzero"`

	// Lane is the lane of the config that is simulated, and of which the log's
	// requests are played. Empty: "default".
	Lane string `json:"lane,omitzero"`

	// SizeSigma spreads the size of requests: one lognormal factor of mean 1
	// scales a request's work at all stations that name no sigma of their own.
	SizeSigma float64 `json:"size_sigma,omitzero"`

	Backend []Station `json:"backend,omitzero"` // visited in order by every request
	Load    Arrivals  `json:"load,omitzero"`
	Client  Client    `json:"client,omitzero"`

	// Log is the path of a recorded request log, from the scenario's folder. [Load]
	// reads it into Requests, which are played in place of Load and TierMix; a
	// scenario without duration_s lasts as long as its log.
	Log      string   `json:"log,omitzero"`
	Requests []Logged `json:"-"`

	// TierMix is the share of each tier, t0 first; empty: all are t3.
	TierMix []float64 `json:"tier_mix,omitzero"`
	// TierWork is a factor on the work of each tier's requests, t0 first; empty: 1. Who
	// serves the tiers that ask for less serves more of them.
	TierWork []float64 `json:"tier_work,omitzero"`
	// OneRank gives every request the same rank, in the middle of t1.
	OneRank bool `json:"one_rank,omitzero"`
}

// Station is a part of the back end. All requests in service have the same
// speed, which depends on how many they are: a plain delay without more.
type Station struct {
	// Servers is how many requests are in service at most; the others wait for
	// them in order. Zero: all are in service at once.
	Servers int `json:"servers,omitzero"`
	// ServersFactor changes Servers: points [second, factor], each from its
	// second on.
	ServersFactor []Point `json:"servers_factor,omitzero"`

	// Visits are the parts of its work for which a request comes here, one after the other: as
	// to a pool of connections, of which it takes one for each statement. Only their
	// proportions count. Empty: it comes once.
	Visits []float64 `json:"visits,omitzero"`
	// Random takes one of those that wait at random, as a pool of database/sql does.
	Random bool `json:"random,omitzero"`
	// RefusalMS is what an attempt that is not served takes of the station all the same, at
	// once and beside the Servers: to be read and answered.
	RefusalMS float64 `json:"refusal_ms,omitzero"`

	// Cores are shared by n requests in service, each of which then has the
	// speed min(1, Cores*eff/n), eff = 1/(1 + Beta*max(0, n-Knee)): contention
	// beyond the knee. Zero: no sharing.
	Cores float64 `json:"cores,omitzero"`
	Knee  float64 `json:"knee,omitzero"`
	Beta  float64 `json:"beta,omitzero"`

	// USLAlpha and USLBeta slow each of n requests in service down to
	// 1/(1 + alpha*(n-1) + beta*n*(n-1)), the universal scalability law
	// (Gunther 1993).
	USLAlpha float64 `json:"usl_alpha,omitzero"`
	USLBeta  float64 `json:"usl_beta,omitzero"`

	Dist Dist `json:"dist,omitzero"`
	// ARSigma multiplies successive requests' work by a correlated lognormal
	// factor of mean 1, whose logarithm is a first-order autoregression with
	// coefficient ARRho.
	ARSigma float64 `json:"ar_sigma,omitzero"`
	ARRho   float64 `json:"ar_rho,omitzero"`
	// SizeSigma takes the place of the scenario's at this station.
	SizeSigma float64 `json:"size_sigma,omitzero"`

	// Speed is a factor on the station's speed: points [second, factor], linear
	// between them, a step where a second is repeated. It is applied every 250
	// ms.
	Speed []Point `json:"speed,omitzero"`
	// PauseMS is how long the station stands still every PauseEveryS.
	PauseEveryS float64 `json:"pause_every_s,omitzero"`
	PauseMS     float64 `json:"pause_ms,omitzero"`
}

// Point is a value at a second.
type Point [2]float64

// Dist is a distribution of work, scaled to its mean.
type Dist struct {
	// Kind is det, exp, lognormal (with Sigma), bimodal (95 % x, 5 % 100 x),
	// pareto (shape 1.5, at most 1,000 times the least) or mix: two classes of
	// operation, lognormal with Sigma and Sigma2, the second with share P and
	// Ratio times slower in the mean. Kind log is the service time that the log
	// has for the request; it has no mean of its own.
	Kind   string  `json:"kind,omitzero"`
	MeanMS float64 `json:"mean_ms,omitzero"`
	Sigma  float64 `json:"sigma,omitzero"`
	Sigma2 float64 `json:"sigma2,omitzero"`
	P      float64 `json:"p,omitzero"`
	Ratio  float64 `json:"ratio,omitzero"`
}

// Arrivals is the offered load.
type Arrivals struct {
	// Points [second, x] give the rate of a Poisson process, x times the
	// scenario's capacity, linear between them.
	Points []Point `json:"points,omitzero"`
	// ClosedClients ask one after the other, ThinkMS in the mean after each
	// answer, exponentially distributed.
	ClosedClients int     `json:"closed_clients,omitzero"`
	ThinkMS       float64 `json:"think_ms,omitzero"`
}

// Client is how those who ask behave.
type Client struct {
	DeadlineMS float64 `json:"deadline_ms,omitzero"` // how long an attempt is waited for, unless the log says
	// TightDeadlineMS is a second measure of goodput only. Zero: none.
	TightDeadlineMS float64 `json:"tight_deadline_ms,omitzero"`

	// Retry is what follows a refusal or a time-out: nothing, an attempt after
	// 1 ms ("immediate"), after BaseMS*2^k*U(0.5, 1.5) ("backoff") or after
	// BaseMS*U(1-j, 1+j), j being RetryAfterJitter ("after"), or when the lane's
	// refusal says, if it says anything ("hint": a client that does as Retry-After
	// tells him; his own time-outs tell nothing, and he waits as with "after"); at
	// most MaxRetry.
	Retry            string  `json:"retry,omitzero"`
	MaxRetry         int     `json:"max_retry,omitzero"`
	BaseMS           float64 `json:"base_ms,omitzero"`
	RetryAfterJitter float64 `json:"retry_after_jitter,omitzero"`

	// CancelReleasesSlot frees an attempt's slot when its client gives up, as
	// overload, while the back end goes on with work that is no use any more.
	// Otherwise the slot stays taken until the back end is done.
	CancelReleasesSlot bool `json:"cancel_releases_slot,omitzero"`
	// CancelStopsWork has the back end drop an attempt whose client gave up, as one does
	// that heeds its context: at once while it waits for a station, or else when
	// the visit under way ends. Its slot is then free, as overload.
	CancelStopsWork bool `json:"cancel_stops_work,omitzero"`
}

// seedStride keeps the seeds of a scenario's runs apart.
const seedStride = 1_000_003

// Seeded returns the scenario with the seed of its k-th run; the 0th is s.
func (s Scenario) Seeded(k int) Scenario {
	s.Seed += seedStride * uint64(k)
	return s
}
