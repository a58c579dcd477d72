package httpmw

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission"
)

func TestWhatEveryReasonIsAnswered(t *testing.T) {
	h := handler{cfg: Config{NoRetryHeader: "X-Envoy-Ratelimited", ReasonHeader: "X-Admission-Reason"}}
	r := httptest.NewRequest("GET", "/", nil)
	for reason := range admission.NumReasons {
		for _, hint := range []time.Duration{0, -1, 1500 * time.Millisecond} {
			w := httptest.NewRecorder()
			h.answer(w, r, &admission.ShedError{Reason: reason, Stage: "hidden", Lane: "hidden", RetryAfter: hint})

			status := http.StatusServiceUnavailable
			if reason == admission.ReasonTenantCap || reason == admission.ReasonKeyed {
				status = http.StatusTooManyRequests
			}
			retry, noRetry := "", ""
			if hint > 0 && reason != admission.ReasonDeadline {
				retry = "2"
			}
			if status == http.StatusTooManyRequests || hint < 0 && reason != admission.ReasonDeadline {
				noRetry = "true"
			}
			for what, c := range map[string][2]string{
				"status":              {strconv.Itoa(w.Code), strconv.Itoa(status)},
				"Retry-After":         {w.Header().Get("Retry-After"), retry},
				"X-Envoy-Ratelimited": {w.Header().Get("X-Envoy-Ratelimited"), noRetry},
				"X-Admission-Reason":  {w.Header().Get("X-Admission-Reason"), reason.String()},
				"Cache-Control":       {w.Header().Get("Cache-Control"), "no-store"},
				"Content-Type":        {w.Header().Get("Content-Type"), "application/problem+json"},
				"Content-Length":      {w.Header().Get("Content-Length"), strconv.Itoa(w.Body.Len())},
				"Connection":          {w.Header().Get("Connection"), ""},
			} {
				if c[0] != c[1] {
					t.Errorf("%v, hint %v: %s is %q, want %q", reason, hint, what, c[0], c[1])
				}
			}
			var problem struct {
				Title, Reason string
				Status        int
			}
			if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil {
				t.Fatalf("%v: %v in %s", reason, err, w.Body)
			}
			if problem.Title != http.StatusText(status) || problem.Status != status || problem.Reason != reason.String() {
				t.Errorf("%v: body %s", reason, w.Body)
			}
			if strings.Contains(w.Body.String(), "hidden") {
				t.Errorf("%v: the body tells too much: %s", reason, w.Body)
			}
		}
	}
}

func TestRetryAfterIsRoundedUp(t *testing.T) {
	for hint, want := range map[time.Duration]string{
		1:                       "1",
		time.Millisecond:        "1",
		time.Second:             "1",
		time.Second + 1:         "2",
		2500 * time.Millisecond: "3",
		2 * time.Minute:         "120",
		time.Hour:               "3600",
		1<<63 - 1:               "9223372037",
	} {
		if got := retryAfter(hint)[0]; got != want {
			t.Errorf("%v: %s, want %s", hint, got, want)
		}
	}
}

func TestAcceptsJSON(t *testing.T) {
	for _, c := range []struct {
		accept []string
		want   bool
	}{
		{nil, true},
		{[]string{"*/*"}, true},
		{[]string{"application/json"}, true},
		{[]string{"Application/JSON; charset=utf-8"}, true},
		{[]string{"application/problem+json"}, true},
		{[]string{"application/*"}, true},
		{[]string{"text/html,application/xhtml+xml,*/*;q=0.8"}, true},
		{[]string{"text/html", "application/json"}, true},
		{[]string{"text/html , application/json ; q=0.1"}, true},
		{[]string{`text/html;v="a,b", application/json`}, true},

		{[]string{"text/html"}, false},
		{[]string{"text/*"}, false},
		{[]string{`text/html;v="x,application/json"`}, false},
		{[]string{"text/plain, application/json;q=0"}, false},
		{[]string{"text/plain, application/json; Q=0.000"}, false},
		{[]string{"application/json;v=1;q=0"}, false},
		{[]string{"application/jsonx"}, false},
		{[]string{""}, false},
	} {
		if got := acceptsJSON(c.accept); got != c.want {
			t.Errorf("%q: %v, want %v", c.accept, got, c.want)
		}
	}
}

// FuzzAccept: parsing ends, does not panic, and a range that covers JSON is
// found behind whatever came before it on another line.
func FuzzAccept(f *testing.F) {
	for _, s := range []string{"*/*", `a;b="c,d";q=0`, "text/html, application/json;q=0.0", `"\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		acceptsJSON([]string{s})
		if !acceptsJSON([]string{s, "application/json"}) {
			t.Fatalf("%q hides the next line", s)
		}
	})
}
