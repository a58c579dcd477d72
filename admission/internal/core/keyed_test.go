package core

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// Of several actors each above the setpoint is brought back to it, his worst tiers
// first, and who is below it is not touched.
func TestKeyedHoldsEachActor(t *testing.T) {
	const seed = 51
	rng := rand.New(rand.NewPCG(seed, 1))
	k, err := NewKeyed(SignalConfig{1, SignalKP, SignalKI})
	if err != nil {
		t.Fatal(err)
	}
	load := map[string]int{"calm": 100, "double": 400, "tenfold": 2000} // a second; each may have 200
	passed, offered := map[string]float64{}, map[string]float64{}
	good := map[string][2]float64{} // of t1: offered, passed
	for period := range 120 {
		pressures := map[string]float64{}
		actors := k.Actors()
		for name, n := range load {
			through := 0
			for range n / 2 {
				tier := 1 + 4*rng.IntN(2)
				a := actors[name]
				ok := a == nil || !a.Sheds(tier, rng.Uint32())
				if ok {
					through++
				}
				if period >= 20 {
					g := good[name]
					if tier == 1 {
						g[0]++
						if ok {
							g[1]++
						}
					}
					good[name] = g
				}
			}
			pressures[name] = float64(through) / 100
			if period >= 20 {
				passed[name] += float64(through)
				offered[name] += float64(n / 2)
			}
		}
		k.Step(Narrow(pressures, 1, actors), 500*ms)
	}
	for name, want := range map[string]float64{"calm": 1, "double": 0.5, "tenfold": 0.1} {
		if got := passed[name] / offered[name]; math.Abs(got-want) > 0.02 {
			t.Errorf("%s: %.3f pass, want %.2f (seed %d)", name, got, want, seed)
		}
	}
	if g := good["double"]; g[1]/g[0] < 0.95 {
		t.Errorf("of double's t1, half of what it offers, %.3f pass", g[1]/g[0])
	}
	if k.Actors()["calm"] != nil {
		t.Error("a calm actor is regulated")
	}
}

// Those that calm down leave, those without a reading at once, and there are never
// more than there is room for.
func TestKeyedIsBounded(t *testing.T) {
	k, err := NewKeyed(SignalConfig{1, SignalKP, SignalKI})
	if err != nil {
		t.Fatal(err)
	}
	many := map[string]float64{}
	for i := range 3 * MaxActors {
		many[fmt.Sprint("k", i)] = 1.5
	}
	many["worst"] = 9
	many["absurd"] = math.NaN()
	read := func() Pressures { return Narrow(many, 1, k.Actors()) }
	if r := read(); r.Bad != 1 || len(r.Of) != MaxActors {
		t.Errorf("%d bad, %d left", r.Bad, len(r.Of))
	}
	if !k.Step(read(), 500*ms) || len(k.Actors()) != MaxActors || k.Over() != 2*MaxActors+1 {
		t.Errorf("%d actors, %d over", len(k.Actors()), k.Over())
	}
	if k.Actors()["worst"] == nil || k.Actors()["absurd"] != nil {
		t.Error("the worst is left out, or one without a pressure is in")
	}
	for range 3 {
		k.Step(read(), 500*ms)
	}
	if !k.Step(Pressures{}, 10*time.Second) && len(k.Actors()) != 0 {
		t.Errorf("%d actors without any pressure", len(k.Actors()))
	}
	k.Step(Pressures{}, 10*time.Second)
	k.Step(Pressures{}, 10*time.Second)
	if n := len(k.Actors()); n != 0 {
		t.Errorf("%d actors after long calm", n)
	}
	k.Step(read(), 500*ms)
	if !k.Reset() || k.Reset() || k.Actors() != nil || k.Over() != 0 {
		t.Error("without a reading somebody is regulated")
	}
}

// The threshold sheds exactly the ratio, whatever the mix.
func TestActorSheds(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 2))
		a := &Actor{signal: newSignal(t, 1)}
		a.cut.Store(noCut)
		var mix [NumTiers]int
		for i := range mix {
			mix[i] = rng.IntN(3) * rng.IntN(2000)
		}
		mix[rng.IntN(NumTiers)]++
		pass := func() (shed, total float64) {
			worst := -1
			for tier, n := range mix {
				for range n {
					total++
					if a.Sheds(tier, rng.Uint32()) {
						shed++
						if worst < 0 {
							worst = tier
						}
					} else if worst >= 0 && tier > worst {
						t.Fatalf("seed %d: t%d passes while t%d is shed", seed, tier, worst)
					}
				}
			}
			return shed, total
		}
		if shed, _ := pass(); shed != 0 {
			t.Fatalf("seed %d: %v shed before the mix is known", seed, shed)
		}
		a.step(1+rng.Float64(), 500*ms)
		shed, total := pass()
		if math.Abs(shed/total-a.Ratio()) > 0.01+3/math.Sqrt(total) {
			t.Errorf("seed %d: sheds %.3f of %v, want %.3f", seed, shed/total, total, a.Ratio())
		}
	}
}
