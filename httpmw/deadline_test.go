package httpmw

import (
	"math"
	"net/http"
	"net/textproto"
	"testing"
	"time"
)

func TestDeadlineForms(t *testing.T) {
	const malformed = time.Duration(-1)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Grpc-Timeout", "250m", 250 * time.Millisecond},
		{"Grpc-Timeout", "1H", time.Hour},
		{"Grpc-Timeout", "2M", 2 * time.Minute},
		{"Grpc-Timeout", "3S", 3 * time.Second},
		{"Grpc-Timeout", "4u", 4 * time.Microsecond},
		{"Grpc-Timeout", "5n", 5},
		{"Grpc-Timeout", "99999999n", 99999999},
		{"Grpc-Timeout", "99999999H", math.MaxInt64}, // would overflow
		{"Grpc-Timeout", "100000000n", malformed},    // nine digits
		{"Grpc-Timeout", "m", malformed},
		{"Grpc-Timeout", "", malformed},
		{"Grpc-Timeout", "10", malformed},
		{"Grpc-Timeout", "-1S", malformed},
		{"Grpc-Timeout", "1.5S", malformed},
		{"Grpc-Timeout", "1s", malformed},

		{"Connect-Timeout-Ms", "400", 400 * time.Millisecond},
		{"X-Envoy-Expected-Rq-Timeout-Ms", "15000", 15 * time.Second},
		{"Connect-Timeout-Ms", "9999999999", 9999999999 * time.Millisecond},
		{"Connect-Timeout-Ms", "10000000000", malformed},
		{"Connect-Timeout-Ms", "400ms", malformed},
		{"Connect-Timeout-Ms", "-1", malformed},
		{"Connect-Timeout-Ms", "", malformed},

		{"X-Request-Timeout", "250ms", 250 * time.Millisecond},
		{"X-Request-Timeout", "1.5s", 1500 * time.Millisecond},
		{"X-Request-Timeout", "0s", 0},
		{"X-Request-Timeout", "400", malformed}, // of what?
		{"X-Request-Timeout", "0", malformed},
		{"X-Request-Timeout", "-1s", malformed},
		{"X-Request-Timeout", "+1s", malformed},
		{"X-Request-Timeout", "NaN", malformed},
		{"X-Request-Timeout", "9999999h", malformed},
	} {
		got, ok := timeoutForm(c.name)(c.value)
		if !ok {
			got = malformed
		}
		if got != c.want {
			t.Errorf("%s: %s is %v, want %v", c.name, c.value, got, c.want)
		}
	}
}

func TestShortestDeadlineWithinBounds(t *testing.T) {
	d := newDeadlines(Headers{
		Deadlines:   []string{"Grpc-Timeout", "Connect-Timeout-Ms", "X-Request-Timeout"},
		MinDeadline: 10 * time.Millisecond, MaxDeadline: time.Minute,
	})
	const none = time.Duration(-1)
	for name, c := range map[string]struct {
		header http.Header
		want   time.Duration
	}{
		"none":             {http.Header{}, none},
		"one":              {http.Header{"Grpc-Timeout": {"1S"}}, time.Second},
		"shortest":         {http.Header{"Grpc-Timeout": {"1S"}, "Connect-Timeout-Ms": {"300"}, "X-Request-Timeout": {"2s"}}, 300 * time.Millisecond},
		"malformed aside":  {http.Header{"Grpc-Timeout": {"1S"}, "Connect-Timeout-Ms": {"x"}}, time.Second},
		"malformed alone":  {http.Header{"Connect-Timeout-Ms": {"x"}}, none},
		"sent twice":       {http.Header{"Connect-Timeout-Ms": {"20", "30"}}, none},
		"below the bounds": {http.Header{"Connect-Timeout-Ms": {"0"}}, 10 * time.Millisecond},
		"above the bounds": {http.Header{"Grpc-Timeout": {"99999999H"}}, time.Minute},
		"another header":   {http.Header{"X-Timeout": {"1s"}}, none},
	} {
		got, ok := d.of(c.header)
		if !ok {
			got = none
		}
		if got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// FuzzDeadline: whatever the header says, the deadline is within the bounds or
// there is none, and nothing is taken for a time that has no digit.
func FuzzDeadline(f *testing.F) {
	for _, name := range []string{"grpc-timeout", "connect-timeout-ms", "x-request-timeout"} {
		for _, v := range []string{"250m", "400", "1.5s", "99999999H", "-1s", "0", ""} {
			f.Add(name, v)
		}
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		name = textproto.CanonicalMIMEHeaderKey(name)
		const lo, hi = 5 * time.Millisecond, time.Minute
		d := newDeadlines(Headers{Deadlines: []string{name}, MinDeadline: lo, MaxDeadline: hi})
		got, ok := d.of(http.Header{name: {value}})
		if !ok {
			return
		}
		if got < lo || got > hi {
			t.Fatalf("%s: %q gives %v", name, value, got)
		}
		for i := range len(value) {
			if '0' <= value[i] && value[i] <= '9' {
				return
			}
		}
		t.Fatalf("%s: %q gives %v", name, value, got)
	})
}
