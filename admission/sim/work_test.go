package sim

import (
	"math"
	"testing"
)

// Every distribution is scaled to its mean, and has the shape it says.
func TestDistributions(t *testing.T) {
	for _, c := range []struct {
		dist      Dist
		median    float64 // in units of the mean; 0: not looked at
		tolerance float64
	}{
		{Dist{Kind: "det"}, 0, 1e-9},
		{Dist{Kind: "exp"}, math.Ln2, 0.01},
		{Dist{Kind: "lognormal", Sigma: 1}, math.Exp(-0.5), 0.01},
		{Dist{Kind: "bimodal"}, 0, 0.02},
		{Dist{Kind: "pareto"}, paretoLeast * math.Pow(2, 1/paretoShape), 0.05},
		{Dist{Kind: "mix", P: 0.2, Ratio: 6}, 0, 0.01},
		{Dist{Kind: "mix", P: 0.8, Ratio: 6, Sigma2: 0.3}, 0, 0.01},
	} {
		c.dist.MeanMS = 20
		w := newWork(&Station{Dist: c.dist}, 0, stream{1})
		r := stream{2}
		const n = 1_000_000
		sum, below := 0.0, 0
		for range n {
			x := w.draw(&r, &request{class: r.uniform()})
			sum += x
			if x <= 0.020*c.median {
				below++
			}
		}
		near(t, c.dist.Kind+": mean", sum/n, 0.020, c.tolerance)
		if got := float64(below) / n; c.median > 0 {
			near(t, c.dist.Kind+": share below the median", got, 0.5, 0.01)
		}
	}
}

func TestMixClasses(t *testing.T) {
	w := newWork(&Station{Dist: Dist{Kind: "mix", MeanMS: 1000, P: 0.25, Ratio: 5}}, 0, stream{1})
	r := stream{2}
	fast, slow := w.draw(&r, &request{class: 0.25}), w.draw(&r, &request{class: 0.2499})
	near(t, "fast", fast, 0.5, 1e-12)
	near(t, "slow", slow, 2.5, 1e-12)
}

// The AR(1) factor has mean 1 and the correlation asked for.
func TestCorrelatedWork(t *testing.T) {
	const sigma, rho, n = 0.5, 0.9, 1_000_000
	w := newWork(&Station{Dist: Dist{Kind: "det", MeanMS: 1000}, ARSigma: sigma, ARRho: rho}, 0, stream{1})
	r := stream{2}
	sum, square, product, last := 0.0, 0.0, 0.0, 0.0
	for range n {
		x := w.draw(&r, &request{})
		z := math.Log(x) + sigma*sigma/2
		sum, square, product, last = sum+x, square+z*z, product+z*last, z
	}
	near(t, "mean", sum/n, 1, 0.01)
	near(t, "standard deviation", math.Sqrt(square/n), sigma, 0.02)
	near(t, "correlation", product/square, rho, 0.01)
}

// A request's size is the same at all stations, whose sigma may differ.
func TestSize(t *testing.T) {
	det := Dist{Kind: "det", MeanMS: 1000}
	plain, own := newWork(&Station{Dist: det}, 0.5, stream{1}), newWork(&Station{Dist: det, SizeSigma: 1}, 0.5, stream{1})
	var r stream
	near(t, "the scenario's sigma", plain.draw(&r, &request{size: 1.5}), math.Exp(0.5*1.5-0.125), 1e-12)
	near(t, "the station's own", own.draw(&r, &request{size: 1.5}), math.Exp(1.5-0.5), 1e-12)
}
