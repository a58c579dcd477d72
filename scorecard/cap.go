package scorecard

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Cap is how many requests may be inflight on one counter: a number of
// requests, or a share of the limit of the request's lane, which moves with
// that limit. The zero Cap forbids every request.
type Cap struct {
	// N is a number of requests, 0 or more. It must be 0 if Share is set.
	N int

	// Share, when above 0, is the part of the lane's limit, up to 1. It is
	// rounded to whole requests, and never to fewer than two, one that runs and one
	// that waits: see N for less. While the limit of a lane is not known, the share
	// is not enforced there.
	//
	// A limit that finds itself grows while at least half of it is used. Where one
	// tenant may be alone, a share of half or less holds the limit where it begins,
	// and the tenant at that share of it: give such a lane an Initial, or a Min, of
	// which the share is enough, or the rule a number.
	Share float64
}

// ParseCap parses a number of requests ("20") or a share of the lane's limit
// in per cent ("25%", "0.5%"). Spaces around it are ignored.
func ParseCap(s string) (Cap, error) {
	s = strings.TrimSpace(s)
	c, ok := parseCap(s)
	if !ok {
		return Cap{}, fmt.Errorf("scorecard: cap %.40q: %s", s, capForm)
	}
	return c, nil
}

const capForm = "must be a whole number of requests such as 20, or a share from 0% to 100% such as 25%"

func parseCap(s string) (Cap, bool) {
	digits, isShare := strings.CutSuffix(s, "%")
	// The strconv functions know signs, underscores, exponents and infinities.
	if strings.Trim(digits, "0123456789.") != "" {
		return Cap{}, false
	}
	if !isShare {
		n, err := strconv.Atoi(digits)
		return Cap{N: n}, err == nil
	}
	// The exponent divides by a hundred in decimal: dividing the float would
	// not give back what String prints.
	share, err := strconv.ParseFloat(digits+"e-2", 64)
	return Cap{Share: share}, err == nil && share <= 1
}

// String returns the form that ParseCap reads: "20", "25%".
func (c Cap) String() string {
	if c.Share == 0 {
		return strconv.Itoa(c.N)
	}
	if !(c.Share > 0 && c.Share <= 1) {
		return strconv.FormatFloat(c.Share*100, 'g', -1, 64) + "%"
	}
	// The point moves by two places in the text: times 100 would show 7% as
	// 7.000000000000001%.
	whole, frac, _ := strings.Cut(strconv.FormatFloat(c.Share, 'f', -1, 64), ".")
	frac += strings.Repeat("0", max(0, 2-len(frac)))
	whole = strings.TrimLeft(whole+frac[:2], "0")
	if whole == "" {
		whole = "0"
	}
	if frac = frac[2:]; frac != "" {
		whole += "." + frac
	}
	return whole + "%"
}

// fault says what c must be and is not, or "".
func (c Cap) fault() string {
	switch {
	case c.N < 0:
		return "must not be negative"
	case !(c.Share >= 0 && c.Share <= 1):
		return "share must be from 0% to 100%"
	case c.N > 0 && c.Share > 0:
		return fmt.Sprintf("must be a number or a share, not also %d requests", c.N)
	}
	return ""
}

// above reports that c allows more than d whatever the limit is. The zero Cap
// is both a number and a share.
func (c Cap) above(d Cap) bool {
	switch {
	case d == Cap{}:
		return c != Cap{}
	case c.Share > 0 && d.Share > 0:
		return c.Share > d.Share
	}
	return c.Share == 0 && d.Share == 0 && c.N > d.N
}

// leastShare is what a share allows of a small limit. One that finds itself may be a single
// slot, and whoever waits for it counts too: if nobody's second request could wait, the
// service would shed what it has time for. Of a database on one core that was asked for as
// much as it can do, by forty tenants, the best tier lost a tenth of its requests so, and
// loses a hundredth.
const leastShare = 2

// of returns the cap in requests when the limit is n, 0 standing for unknown.
func (c Cap) of(n int) int {
	switch {
	case c.Share == 0:
		return c.N
	case n == 0:
		return math.MaxInt
	}
	return max(leastShare, int(math.Round(c.Share*float64(n))))
}

// ErrOverCap is what every refusal is, in the sense of [errors.Is].
var ErrOverCap = errors.New("scorecard: over cap")

// A CapError is a refusal: a counter of the rule was at its cap. It names
// neither the tenant nor any other value of the request, so it can be shown to
// whoever sent it. A CapError is made when the rules are set, is returned many
// times, and must not be changed.
type CapError struct {
	Rule    string // the rule's name
	Cap     Cap    // the cap that was reached
	Pressed bool   // it was the rule's UnderPressure cap
}

// Error names the rule and its cap.
func (e *CapError) Error() string {
	s := fmt.Sprintf("scorecard: rule %q: over its cap of %v", e.Rule, e.Cap)
	if e.Cap.Share > 0 {
		s += " of the limit"
	}
	if e.Pressed {
		s += " under pressure"
	}
	return s
}

// Is reports whether target is ErrOverCap.
func (e *CapError) Is(target error) bool { return target == ErrOverCap }
