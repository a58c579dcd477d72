package core

import (
	"testing"
	"time"
)

// A timeline: at each second so many are shed.
func TestEpisode(t *testing.T) {
	var e Episode
	var all Tally
	for _, step := range []struct {
		at     int // seconds
		sheds  uint64
		edge   Edge
		lasted time.Duration
		sum    uint64
	}{
		{0, 0, NoEdge, 0, 0},
		{5, 3, Began, 0, 3}, // what came since the last look is a part of it
		{6, 2, NoEdge, 0, 0},
		{15, 0, NoEdge, 0, 0},
		{15, 1, NoEdge, 0, 0}, // a fit: it is still the same
		{24, 0, NoEdge, 0, 0},
		{25, 0, Ended, 10 * time.Second, 6},
		{30, 0, NoEdge, 0, 0},
		{40, 7, Began, 0, 7},
		{49, 1, NoEdge, 0, 0},
		{58, 1, NoEdge, 0, 0},
		{67, 1, NoEdge, 0, 0},
		{76, 1, NoEdge, 0, 0},
		{85, 1, NoEdge, 0, 0},
		{94, 1, NoEdge, 0, 0},
		{100, 1, GoesOn, time.Minute, 14},
		{101, 1, NoEdge, 0, 0},
		{200, 0, Ended, 61 * time.Second, 15},
	} {
		all.Arrived += 2 * step.sheds
		all.Shed += step.sheds
		all.Tiers[5] += step.sheds
		all.Reasons[ReasonPriority] += step.sheds
		edge, lasted, sum := e.Step(time.Duration(step.at)*time.Second, all)
		if edge != step.edge || edge != NoEdge && (lasted != step.lasted || sum.Shed != step.sum ||
			sum.Arrived != 2*step.sum || sum.Tiers[5] != step.sum || sum.Reasons[ReasonPriority] != step.sum) {
			t.Errorf("at %d s: %v, %v, %+v, want %v, %v, %d", step.at, edge, lasted, sum, step.edge, step.lasted, step.sum)
		}
	}
	if edge, _, _ := e.End(); edge != NoEdge {
		t.Errorf("nothing to end: %v", edge)
	}
	all.Shed++
	e.Step(300*time.Second, all)
	if edge, lasted, sum := e.End(); edge != Ended || lasted != 0 || sum.Shed != 1 {
		t.Errorf("ended by hand: %v, %v, %v", edge, lasted, sum.Shed)
	}
}
