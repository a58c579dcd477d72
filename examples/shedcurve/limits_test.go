package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/report"
)

// The whole of it, small, over the real service.
func TestLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 16 s")
	}
	cfg := limitsConfig{limits: []int{1, 40}, rounds: 2, x: 2, options: short(t, "")}
	var stdout, stderr bytes.Buffer
	if err := runLimits(t.Context(), cfg, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	if stderr.Len() > 0 {
		t.Errorf("not quiet on what is no terminal: %q", stderr.String())
	}
	var r limitsReport
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%q: %v", stdout.String(), err)
	}
	if r.CapacityRPS <= 0 || r.X != 2 || r.Seed != 1 || r.Customers != testSizes.Customers || len(r.Pinned) != 2 {
		t.Fatalf("%+v", r)
	}
	for i, limit := range []int{0, 0, 1, 40} {
		l := r.all()[i]
		if l.Limit != limit || len(l.Rounds) != cfg.rounds || len(l.Reached) != cfg.rounds || l.GoodputRPS <= 0 || l.P99MS < l.P50MS || l.P50MS <= 0 {
			t.Errorf("arm %d: %+v", i, l)
		}
		for j, reached := range l.Reached {
			if limit > 0 && (reached["read"] != limit || reached["write"] != limit) {
				t.Errorf("limit %d in round %d: the lanes have %v", limit, j+1, reached)
			}
			if reached["read"] < 1 || reached["write"] < 1 {
				t.Errorf("limit %d in round %d: the lanes have %v", limit, j+1, reached)
			}
			// All were asked for the same.
			if got, want := l.Rounds[j].Offered, r.Cold.Rounds[j].Offered; r.Cold.Rounds[j].LeftOut == 0 && l.Rounds[j].LeftOut == 0 && got != want {
				t.Errorf("limit %d in round %d was offered %d, the tuner %d", limit, j+1, got, want)
			}
		}
	}
	if b := r.Best; b != 1 && b != 40 {
		t.Errorf("best limit %d is none of those measured", b)
	}
}

// roundOf is a round in which a limit gave so much goodput at this speed of the machine.
func roundOf(goodput, p99, speed float64) report.Point {
	p50 := p99 / 2
	return report.Point{
		GoodputRPS: goodput, AdmittedP50MS: &p50, AdmittedP99MS: &p99, Speed: &speed, Valid: true, Offered: 20, Admitted: 10,
		Tiers: map[string]report.Tally{"t1": {Offered: 4, Good: 3}},
	}
}

func limitArmOf(limit int, rounds ...report.Point) limitArm {
	return limitArm{Name: strconv.Itoa(limit), Limit: limit, Rounds: rounds}
}

func TestLimitsVerdict(t *testing.T) {
	slow := roundOf(10, 500, 1)
	slow.Valid = false
	for _, tt := range []struct {
		name         string
		tuner        []report.Point
		goodput, p99 float64
		met          bool
	}{
		{"just met", []report.Point{roundOf(95, 60, 1)}, 0.95, 1.5, true},
		{"better than the best", []report.Point{roundOf(110, 30, 1)}, 1.1, 0.75, true},
		{"too little goodput", []report.Point{roundOf(94.9, 40, 1)}, 0.949, 1, false},
		{"too long a tail", []report.Point{roundOf(100, 60.1, 1)}, 1, 1.5025, false},
		{"median", []report.Point{roundOf(1, 40, 1), roundOf(96, 900, 1), roundOf(97, 44, 1)}, 0.96, 1.1, true},
		{"a faster machine is no better limit", []report.Point{roundOf(99, 40, 1.1)}, 0.9, 1, false},
		{"an invalid round does not count", []report.Point{slow, roundOf(100, 40, 1), slow}, 1, 1, true},
		{"without a valid round all count", []report.Point{slow}, 0.1, 12.5, false},
	} {
		r := limitsReport{CapacityRPS: 100, Cold: limitArmOf(0, tt.tuner...), Settled: limitArmOf(0, roundOf(100, 30, 1)), Pinned: []limitArm{
			limitArmOf(1, roundOf(90, 10, 1)), limitArmOf(2, roundOf(120, 48, 1.2)), limitArmOf(4, roundOf(105, 40, 1.05)), limitArmOf(8, roundOf(80, 90, 1)),
		}}
		r.Pinned[1].Rounds[0].AdmittedP99MS = &[]float64{40}[0] // as good as 4: the lower one is the best
		if err := r.judge(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := r.Cold
		if r.Best != 2 || !near(got.GoodputOfBest, tt.goodput) || !near(got.P99OfBest, tt.p99) || got.Met != tt.met {
			t.Errorf("%s: best %d, goodput %v, p99 %v of its, met %t; want 2, %v, %v, %t", tt.name, r.Best, got.GoodputOfBest, got.P99OfBest, got.Met, tt.goodput, tt.p99, tt.met)
		}
		if !r.Settled.Met || !near(r.Settled.P99OfBest, 0.75) {
			t.Errorf("%s: settled: %+v", tt.name, r.Settled)
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

func TestLimitsTable(t *testing.T) {
	bad := roundOf(80, 50, 1)
	bad.Valid = false
	r := limitsReport{
		CapacityRPS: 200, X: 2, DeadlineMS: 250, Seed: 7, Customers: 31, Note: "The machine ran.",
		Cold: limitArmOf(0, roundOf(180, 30, 1), roundOf(180, 30, 1)), Settled: limitArmOf(0, roundOf(190, 60, 1)),
		Pinned: []limitArm{limitArmOf(4, roundOf(200, 40, 1), bad), limitArmOf(8, roundOf(100, 20, 1))},
	}
	r.Cold.Name, r.Settled.Name = "cold", "settled"
	r.Cold.Reached = []map[string]int{{"read": 3, "write": 2}, {"read": 5, "write": 1}}
	if err := r.judge(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"cold 180/s 90 % 90.0 % 15 ms 30 ms 0.75 75.0 % 0 of 2",
		"settled 190/s 95 % 95.0 % 30 ms 60 ms 1.50 75.0 % 0 of 1",
		"4 200/s 100 % 100.0 % 20 ms 40 ms 1.00 75.0 % 1 of 2",
		"8 100/s 50 % 50.0 % 10 ms 20 ms 0.50 75.0 % 0 of 1",
		"capacity 200/s, offered 2x, deadline 250 ms, seed 7, 31 customers",
		"cold: at the end of each round the limits of read+write were 3+2 5+1",
		"The machine ran.",
		"cold: missed: 90.0 % of the goodput of the best pinned limit, 4 (at least 95), and 0.75 times its p99 (at most 1.5)",
		"settled: met: 95.0 % of the goodput of the best pinned limit, 4 (at least 95), and 1.50 times its p99 (at most 1.5)",
	} {
		if !slices.ContainsFunc(strings.Split(out.String(), "\n"), func(l string) bool { return slices.Equal(strings.Fields(l), strings.Fields(want)) }) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
}

// What cannot be judged is said, all of it.
func TestLimitsWithoutAnswers(t *testing.T) {
	none := report.Point{DurationS: 3, Valid: true}
	r := limitsReport{Cold: limitArmOf(0, none), Settled: limitArmOf(0, roundOf(1, 2, 1)), Pinned: []limitArm{limitArmOf(4, roundOf(0, 30, 1))}}
	err := r.judge()
	if err == nil || !strings.Contains(err.Error(), "0: nothing was admitted in 3 s") || !strings.Contains(err.Error(), "no pinned limit") {
		t.Errorf("error %v", err)
	}
}

func TestLimitsFlags(t *testing.T) {
	c, err := parseLimits(nil, &bytes.Buffer{})
	if err != nil || len(c.limits) < 8 || c.rounds != 3 || c.x != 2 || c.expected() > 220*time.Second {
		t.Errorf("default: %+v, %v; want 8 limits, three times at 2x, in under four minutes", c, err)
	}
	c, err = parseLimits(strings.Fields("-limits 8,2,8 -duration 2s -customers 50"), &bytes.Buffer{})
	if err != nil || !slices.Equal(c.limits, []int{2, 8}) || c.warmUp != 500*time.Millisecond || c.sizes.Customers != 50 {
		t.Errorf("%+v, %v", c, err)
	}
}
