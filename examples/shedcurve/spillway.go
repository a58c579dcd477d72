package main

import (
	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/scorecard"
)

// rules cap how many requests of one tenant may be inside at once, waiting or running. What an export asks for is
// capped low: a tenant whose users look at lists and reports has one of them inside now and then, also when
// the service is at its limit.
var rules = []scorecard.Rule{
	{Name: "reports", Match: "tenant:*;tier:t5", Cap: scorecard.Cap{N: 1}},
	{Name: "lists", Match: "tenant:*;tier:t2", Cap: scorecard.Cap{N: 2}},
	{Name: "tenant", Match: "tenant:*", Cap: scorecard.Cap{N: 8}},
}

// defaultConfig is that of the controller that makes the difference between the arms. All but the lanes and the caps is
// default, and the lanes' limit where it is not 0: then each is pinned there.
func defaultConfig(limit int) admission.Config {
	lane := admission.LaneConfig{Limit: admission.LimitConfig{Fixed: limit}}
	return admission.Config{
		// Reads and writes wait for different things, so each has its own limit.
		Lanes:     map[string]admission.LaneConfig{"read": lane, "write": lane},
		Scorecard: admission.ScorecardConfig{Rules: rules},
	}
}
