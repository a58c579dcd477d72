package sim

import "math"

// stream is a sequence of random numbers: splitmix64 (Steele, Lea & Flood
// 2014). It is one word, so that each request can have its own.
type stream struct{ state uint64 }

const golden = 0x9e3779b97f4a7c15

// fork returns the k-th of many independent streams.
func (s stream) fork(k uint64) stream {
	s.state ^= finish((k + 1) * golden)
	return stream{s.next()}
}

func (s *stream) next() uint64 {
	s.state += golden
	return finish(s.state)
}

func finish(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// uniform is in [0, 1).
func (s *stream) uniform() float64 { return float64(s.next()>>11) / (1 << 53) }

// exp has mean 1.
func (s *stream) exp() float64 { return -math.Log(1 - s.uniform()) }

// normal has mean 0 and variance 1 (Box & Muller 1958).
func (s *stream) normal() float64 {
	return math.Sqrt(2*s.exp()) * math.Cos(2*math.Pi*s.uniform())
}

// lognormal has mean 1, and its logarithm the standard deviation sigma.
func lognormal(z, sigma float64) float64 { return math.Exp(sigma*z - sigma*sigma/2) }
