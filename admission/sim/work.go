package sim

import "math"

// work draws the work of requests at one station, in seconds of a station at
// speed 1.
type work struct {
	dist  Dist
	size  float64 // sigma of the size factor
	sigma float64 // of the correlated factor
	rho   float64
	z     float64 // the autoregression's last value
	noise stream
}

func newWork(s *Station, sizeSigma float64, noise stream) work {
	if s.SizeSigma > 0 {
		sizeSigma = s.SizeSigma
	}
	w := work{dist: s.Dist, size: sizeSigma, sigma: s.ARSigma, rho: s.ARRho, noise: noise}
	w.z = w.noise.normal()
	return w
}

// draw takes a request's work from a stream of the attempt's own; class, size and
// what the log says are the request's, the same at every station. The correlated factor goes by the order
// in which requests come to the station.
func (w *work) draw(random *stream, r *request) float64 {
	x := r.service
	if w.dist.Kind != distLog {
		x = w.dist.MeanMS / 1000 * w.dist.draw(random, r.class)
	}
	if w.size > 0 {
		x *= lognormal(r.size, w.size)
	}
	if w.sigma > 0 {
		w.z = w.rho*w.z + math.Sqrt(1-w.rho*w.rho)*w.noise.normal()
		x *= lognormal(w.z, w.sigma)
	}
	return x
}

// Bounded Pareto: shape and the ratio of the largest to the least.
const (
	paretoShape = 1.5
	paretoRatio = 1000.0
)

var (
	paretoTail  = math.Pow(paretoRatio, -paretoShape)
	paretoLeast = (paretoShape - 1) / paretoShape * (1 - paretoTail) / (1 - math.Pow(paretoRatio, 1-paretoShape))
)

// draw is in units of the mean. class is uniform in [0, 1).
func (d *Dist) draw(r *stream, class float64) float64 {
	switch d.Kind {
	case "exp":
		return r.exp()
	case "lognormal":
		return lognormal(r.normal(), d.Sigma)
	case "bimodal":
		const share, ratio = 0.05, 100.0
		x := 1 / (1 - share + share*ratio)
		if r.uniform() < share {
			x *= ratio
		}
		return x
	case "pareto":
		return paretoLeast * math.Pow(1-r.uniform()*(1-paretoTail), -1/paretoShape)
	case "mix":
		x := 1 / (1 - d.P + d.P*d.Ratio)
		if class < d.P {
			return x * d.Ratio * lognormal(r.normal(), d.Sigma2)
		}
		return x * lognormal(r.normal(), d.Sigma)
	}
	return 1 // det
}
