package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/internal/core"
)

// Logged is a request of a recorded log. Its zero value is one at the log's start
// that takes no time.
type Logged struct {
	At       time.Duration // from the first one's
	Service  time.Duration // that it takes once it is admitted
	Deadline time.Duration // how long its client waits for an attempt; 0: as the scenario says
	Lane     string        // "" is "default"
	Tenant   string        // has a cohort of its own; "": each request has one
	Tier     admission.Tier
}

// distLog is the kind of distribution that a log stands for.
const distLog = "log"

// maxRequests bounds a log's memory: some 200 MB.
const maxRequests = 2_000_000

// fitLog has the scenario last as long as its log, unless it says.
func (s *Scenario) fitLog() {
	if n := len(s.Requests); n > 0 && s.DurationS == 0 {
		// The last request has to begin before the end.
		s.DurationS = max(0.1, (s.Requests[n-1].At + time.Millisecond).Seconds())
	}
}

// patience is how long the most patient client waits.
func (s *Scenario) patience() time.Duration {
	most := millis(s.Client.DeadlineMS)
	for i := range s.Requests {
		most = max(most, s.Requests[i].Deadline)
	}
	return most
}

// ofLane is those of the log's requests that are the lane's; it is an error if
// there are others only.
func ofLane(log []Logged, name string) ([]Logged, error) {
	name = cmp.Or(name, defaultLane)
	other := func(l Logged) bool { return cmp.Or(l.Lane, defaultLane) != name }
	if !slices.ContainsFunc(log, other) {
		return log, nil
	}
	var own []Logged
	lanes := map[string]bool{}
	for _, l := range log {
		if lanes[cmp.Or(l.Lane, defaultLane)] = true; !other(l) {
			own = append(own, l)
		}
	}
	if len(own) == 0 {
		return nil, fmt.Errorf("sim: lane is %q: must be one of the log's, %q", name, sortedKeys(lanes))
	}
	return own, nil
}

// next is when the open loop's next request comes.
func (e *engine) next() time.Duration {
	switch {
	case len(e.scenario.Requests) == 0:
		return e.arrivals.next()
	case len(e.log) == 0 || e.log[0].At >= e.end:
		return never
	}
	return e.log[0].At
}

// logged makes r what the log has next; what it does not say is drawn from s.
func (e *engine) logged(r *request, s *stream) {
	l := &e.log[0]
	e.log = e.log[1:]
	cohort := int(s.next() % core.NumCohorts)
	if l.Tenant != "" {
		cohort = admission.CohortOf(l.Tenant, time.Unix(0, int64(l.At)))
	}
	r.rank = int(l.Tier)*core.NumCohorts + cohort
	r.service, r.patience = l.Service.Seconds(), cmp.Or(l.Deadline, e.deadline)
}

// log checks what came from a log, or from a caller in its stead.
func (v *problems) log(s *Scenario) {
	if len(s.Load.Points) > 0 || s.Load.ClosedClients > 0 {
		v.add("load", "given", "must be left out with a log")
	}
	if len(s.TierMix) > 0 {
		v.add("tier_mix", "given", "must be left out with a log")
	}
	if len(s.TierWork) > 0 {
		v.add("tier_work", "given", "must be left out with a log")
	}
	if n := len(s.Requests); n > maxRequests {
		v.add("log", fmt.Sprintf("%d requests", n), fmt.Sprintf("must be at most %d", maxRequests))
	}
	last := time.Duration(0)
	for i := range s.Requests {
		l := &s.Requests[i]
		at := func(field string) string { return fmt.Sprintf("log request %d %s", i+1, field) }
		switch {
		case l.At < last || l.At > seconds(maxSeconds):
			v.add(at("time"), l.At, "must be in order of time, within a day")
		case l.Service < 0 || l.Service > millis(maxMillis):
			v.add(at("service time"), l.Service, "must be between 0s and 1h")
		case l.Deadline < 0 || l.Deadline > millis(maxMillis):
			v.add(at("deadline"), l.Deadline, "must be between 0s and 1h")
		case l.Tier > admission.T5:
			v.add(at("tier"), l.Tier, "must be t0 to t5")
		case l.Deadline == 0 && s.Client.DeadlineMS == 0:
			v.add(at("deadline"), "missing", "must be given, unless the scenario has client.deadline_ms")
		default:
			last = l.At
			continue
		}
		return // the others are mostly wrong alike
	}
	v.between("client.deadline_ms", s.Client.DeadlineMS, 0, maxMillis)
}
