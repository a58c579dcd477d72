package admission

import (
	"math/bits"
	"math/rand/v2"

	"github.com/spillway-go/spillway/internal/words"
)

// hashOf decides over a request at the gate's boundary. What a request is
// about stays the same over its retries, so they meet the same verdict; a
// request that does not say is decided by chance.
func hashOf(r *Request) uint32 {
	if r.Key == "" {
		return rand.Uint32()
	}
	return uint32(fold(fold(fnvOffset, r.Tenant), r.Key))
}

// fold takes a string into a hash, eight bytes at a time: at the boundary every
// request is hashed, under the lane's lock.
func fold(h uint64, s string) uint64 {
	h ^= uint64(len(s))
	for ; len(s) > 8; s = s[8:] {
		h = times(h ^ words.Load64(s))
	}
	switch n := len(s); {
	case n == 8:
		h ^= words.Load64(s)
	case n >= 4:
		h ^= words.Load32(s) | words.Load32(s[n-4:])<<32
	case n > 0:
		h ^= uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16
	}
	return times(h)
}

// times mixes a word: each bit of it goes into both halves of the product.
func times(h uint64) uint64 {
	upper, lower := bits.Mul64(h, 0x9e3779b97f4a7c15)
	return upper ^ lower
}
