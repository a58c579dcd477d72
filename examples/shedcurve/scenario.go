package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/sim"
	"github.com/spillway-go/spillway/examples/shedcurve/load"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
	"github.com/spillway-go/spillway/examples/shedcurve/service"
)

// scenarioFile is written beside the report: the service as shedcurve sim takes it.
const scenarioFile = "shedcurve.scenario.json"

const (
	tierWindows = 1           // of the capacity's measurement, for the service times of a tier
	refusalTime = time.Second // for what a refusal costs
	// Requests offered a second for it, as multiples of the capacity but no more than the generator can: a service that is
	// busy reads and answers many at a time, for half of what each takes alone.
	refusalX, refusalMost = 40, 8000.0
	scenarioX             = 3.0  // multiples of capacity
	scenarioWarmUp        = 5.0  // seconds that a simulated limit has to find itself: the measured one has found it at the load before
	scenarioTime          = 20.0 // seconds
)

// refuseAll is a config that lets nobody in.
const refuseAll = `{"lanes": {"read": {}, "write": {}}, "scorecard": {"rules": [{"name": "nobody", "match": "lane:*", "cap": 0}]}}
`

// scenario describes our own service for the simulator, from measurements of its parts and not of its curve: the capacity, the
// service times of each tier and what a refusal costs. That it has one core, a pool and handlers that stop at
// their deadlines is how it is built.
func (c *curve) scenario(ctx context.Context) (*sim.Scenario, error) {
	c.bar.say("measuring service times")
	station := sim.Station{
		Servers: orders.Connections, Visits: orders.Statements(), Random: true, Cores: 1,
		Dist: sim.Dist{Kind: "lognormal", MeanMS: 1000 / c.report.CapacityRPS},
	}
	s := &sim.Scenario{
		Name: "shedcurve", Family: "measured", DurationS: scenarioWarmUp + scenarioTime, MeasureFromS: scenarioWarmUp,
		CapacityRPS: round(c.report.CapacityRPS), Seed: c.opts.seed,
		Load:    sim.Arrivals{Points: []sim.Point{{0, scenarioX}}},
		Client:  sim.Client{DeadlineMS: ms(c.opts.deadline), CancelStopsWork: true},
		TierMix: make([]float64, admission.NumTiers), TierWork: make([]float64, admission.NumTiers),
	}
	byTier := map[admission.Tier][]load.Class{}
	weights := 0.0
	for _, class := range c.opts.mix.Classes() {
		p, err := admission.ParsePriority(class.Tier)
		if err != nil {
			return nil, err
		}
		byTier[p.Tier()] = append(byTier[p.Tier()], class)
		weights += class.Weight
	}
	mean := 0.0
	for tier := range admission.NumTiers {
		s.TierWork[tier] = 1
		classes := byTier[admission.Tier(tier)]
		if len(classes) == 0 {
			continue
		}
		for _, class := range classes {
			s.TierMix[tier] += class.Weight / weights
		}
		took, err := c.serviceTimes(ctx, classes)
		if err != nil {
			return nil, err
		}
		m, spread := lognormal(took)
		s.TierWork[tier] = m
		mean += s.TierMix[tier] * m
		station.Dist.Sigma += s.TierMix[tier] * spread
	}
	for tier, share := range s.TierMix {
		if share > 0 {
			s.TierWork[tier] = round(s.TierWork[tier] / mean)
		}
	}
	var err error
	if station.RefusalMS, err = c.refusal(ctx); err != nil {
		return nil, err
	}
	station.RefusalMS, station.Dist.MeanMS, station.Dist.Sigma = round(station.RefusalMS), round(station.Dist.MeanMS), round(station.Dist.Sigma)
	s.Backend = []sim.Station{station}
	return s, s.Validate()
}

// serviceTimes are those of some classes of requests, at the reference speed.
func (c *curve) serviceTimes(ctx context.Context, classes []load.Class) ([]time.Duration, error) {
	a := c.arms[0]
	mix, err := load.NewMix(classes...)
	if err != nil {
		return nil, err
	}
	if _, err := a.child.Reset(ctx); err != nil {
		return nil, err
	}
	return load.ServiceTimes(ctx, a.client, load.Probe{
		Mix: mix, Window: tierWindows * c.opts.window, Deadline: c.opts.deadline, Seed: c.opts.seed,
		Speed: func(from, to time.Time) (float64, error) { return c.relative(ctx, a.child, from, to) },
	})
}

// relative is how fast the machine was for a child, as a multiple of the reference.
func (c *curve) relative(ctx context.Context, child *service.Child, from, to time.Time) (float64, error) {
	read, err := child.Speed(ctx)
	if err != nil {
		return 0, err
	}
	return c.speed.Of(from, to, read), nil
}

// refusal measures what the service needs to refuse a request, in ms of its core at the reference speed: what one that
// refuses all uses while it is offered much. It is 0 where the system does not tell what a process uses.
func (c *curve) refusal(ctx context.Context) (float64, error) {
	file := filepath.Join(filepath.Dir(c.arms[0].db), "refuse.json")
	if err := os.WriteFile(file, []byte(refuseAll), 0o600); err != nil {
		return 0, err
	}
	flags := []string{"-config", file}
	if c.opts.grpc {
		flags = append(flags, grpcFlag)
	}
	child, err := startChild(ctx, c.arms[0].db, "on", flags...)
	if err != nil {
		return 0, err
	}
	defer func() { _ = child.Stop() }()
	client, err := load.NewClient(targetURL(child.At.Addr, c.opts.grpc))
	if err != nil {
		return 0, err
	}
	defer client.Close()
	before, err := child.Usage(ctx)
	if err != nil || before.CPUSeconds == nil {
		return 0, err
	}
	start := time.Now()
	all, err := load.Run(ctx, client, load.Config{
		Mix: c.opts.mix, Rate: min(refusalX*c.report.CapacityRPS, refusalMost), Duration: refusalTime, Deadline: c.opts.deadline, Seed: c.opts.seed,
	})
	if err != nil {
		return 0, err
	}
	after, err := child.Usage(ctx)
	if err != nil {
		return 0, err
	}
	read, err := child.Speed(ctx)
	if err != nil {
		return 0, err
	}
	res := all.Merge(nil)
	if res.Shed < res.Offered/2 || res.Good > 0 {
		return 0, fmt.Errorf("measuring refusals: of %d requests %d were refused, %d served", res.Offered, res.Shed, res.Good)
	}
	used := *after.CPUSeconds - *before.CPUSeconds
	for _, r := range read { // the gauge itself
		if r.At.After(start) {
			used -= r.Took.Seconds()
		}
	}
	speed := c.speed.Of(start, time.Now(), read)
	return max(0, 1000*used*speed/float64(res.Shed)), nil
}

// lognormal fits one by the mean and the spread of the logarithms; sorted durations, at least one.
func lognormal(took []time.Duration) (mean, sigma float64) {
	logs, squares, n := 0.0, 0.0, float64(len(took))
	for _, d := range took {
		mean += d.Seconds() / n
		logs += math.Log(d.Seconds()) / n
	}
	for _, d := range took {
		squares += math.Pow(math.Log(d.Seconds())-logs, 2) / n
	}
	return mean, math.Sqrt(squares)
}

// round keeps three digits: the rest is noise.
func round(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64) // what was a number is one
	return v
}

// writeScenario writes it beside the report.
func writeScenario(dir string, s *sim.Scenario) error {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, scenarioFile), append(text, '\n'), 0o666)
}
