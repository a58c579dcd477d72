package httpmw

import (
	"math"
	"net/http"
	"strings"
	"time"
)

// deadlines are the headers that say how long a caller will wait, and the bounds
// of what they may say.
type deadlines struct {
	headers  []deadlineHeader
	min, max time.Duration
}

type deadlineHeader struct {
	name  string
	parse func(string) (time.Duration, bool)
}

func newDeadlines(h Headers) deadlines {
	d := deadlines{min: h.MinDeadline, max: h.MaxDeadline}
	for _, name := range h.Deadlines {
		d.headers = append(d.headers, deadlineHeader{name, timeoutForm(name)})
	}
	return d
}

// timeoutForm is how the value of the header so named is written.
func timeoutForm(name string) func(string) (time.Duration, bool) {
	switch {
	case name == "Grpc-Timeout":
		return parseGRPCTimeout
	case strings.HasSuffix(name, "-Ms"):
		return parseMillis
	}
	return parseWithUnit
}

// of is the shortest time that the headers name, within the bounds.
func (d *deadlines) of(header http.Header) (shortest time.Duration, ok bool) {
	for i := range d.headers {
		h := &d.headers[i]
		t, well := h.parse(single(header, h.name))
		if well && (!ok || t < shortest) {
			shortest, ok = t, true
		}
	}
	return min(max(shortest, d.min), d.max), ok
}

// parseGRPCTimeout reads 1 to 8 digits and a unit, as in gRPC's specification
// of its protocol over HTTP/2.
func parseGRPCTimeout(s string) (time.Duration, bool) {
	if s == "" {
		return 0, false
	}
	var unit time.Duration
	switch s[len(s)-1] {
	case 'H':
		unit = time.Hour
	case 'M':
		unit = time.Minute
	case 'S':
		unit = time.Second
	case 'm':
		unit = time.Millisecond
	case 'u':
		unit = time.Microsecond
	case 'n':
		unit = time.Nanosecond
	default:
		return 0, false
	}
	n, ok := digits(s[:len(s)-1], 8)
	if n > math.MaxInt64/int64(unit) { // 99999999H is a valid way to say: no end
		return math.MaxInt64, ok
	}
	return time.Duration(n) * unit, ok
}

// parseMillis reads 1 to 10 digits, as in Connect's specification of its
// protocol.
func parseMillis(s string) (time.Duration, bool) {
	n, ok := digits(s, 10)
	return time.Duration(n) * time.Millisecond, ok
}

// parseWithUnit reads what [time.ParseDuration] reads, but no sign, and no zero
// without a unit: who sends "400" may mean anything.
func parseWithUnit(s string) (time.Duration, bool) {
	const longest = 32 // the error for a longer one would quote all of it
	if s == "" || s == "0" || len(s) > longest || s[0] == '-' || s[0] == '+' {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}
