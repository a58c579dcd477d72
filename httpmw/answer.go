package httpmw

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-go/spillway/admission"
)

// answer is all that can be prepared of the answer for a reason. One slice per
// header value, because that is what a header map holds; their capacity is their
// length, so that who appends gets his own.
type answer struct {
	status        int
	reason        []string
	problem, text body
}

type body struct {
	data                []byte
	contentType, length []string
}

var (
	noStore = []string{"no-store"}
	yes     = []string{"true"}
	answers = makeAnswers()
	delays  = makeDelays()
)

func makeAnswers() (as [admission.NumReasons]answer) {
	for i := range as {
		reason := admission.Reason(i)
		status := http.StatusServiceUnavailable
		if reason == admission.ReasonTenantCap || reason == admission.ReasonKeyed {
			status = http.StatusTooManyRequests
		}
		title := http.StatusText(status)
		as[i] = answer{
			status: status,
			reason: []string{reason.String()},
			// No "type" means about:blank: the status says it all (RFC 9457, 4.2.1).
			problem: makeBody("application/problem+json",
				fmt.Sprintf(`{"title":%q,"status":%d,"reason":%q}`, title, status, reason)),
			text: makeBody("text/plain; charset=utf-8", fmt.Sprintf("%d %s: %s\n", status, title, reason)),
		}
	}
	return as
}

func makeBody(contentType, data string) body {
	return body{[]byte(data), []string{contentType}, []string{strconv.Itoa(len(data))}}
}

// makeDelays prepares the delays that are likely.
func makeDelays() (ds [121][]string) {
	for i := range ds {
		ds[i] = []string{strconv.Itoa(i)}
	}
	return ds
}

// retryAfter is a delay in whole seconds, rounded up: a client that comes too
// early is one more to shed. REQUIRES: hint > 0.
func retryAfter(hint time.Duration) []string {
	s := int64((hint-1)/time.Second) + 1
	if s < int64(len(delays)) {
		return delays[s]
	}
	return []string{strconv.FormatInt(s, 10)}
}

// acceptsJSON tells whether Accept permits a problem+json body: when it is
// absent, or when one of its ranges covers JSON and is not weighed 0.
func acceptsJSON(accept []string) bool {
	if len(accept) == 0 {
		return true
	}
	for _, line := range accept {
		for line != "" {
			var part string
			part, line = cutMember(line)
			media, params, _ := strings.Cut(part, ";")
			if coversJSON(strings.TrimRight(media, " \t")) && !weighsNothing(params) {
				return true
			}
		}
	}
	return false
}

func coversJSON(media string) bool {
	switch {
	case media == "*/*",
		strings.EqualFold(media, "application/json"),
		strings.EqualFold(media, "application/problem+json"),
		strings.EqualFold(media, "application/*"):
		return true
	}
	return false
}

// weighsNothing tells whether the parameters of a media range have a q of 0.
func weighsNothing(params string) bool {
	for params != "" {
		var p string
		p, params, _ = strings.Cut(params, ";")
		name, q, _ := strings.Cut(strings.Trim(p, " \t"), "=")
		if strings.EqualFold(name, "q") {
			return strings.HasPrefix(q, "0") && strings.Trim(q, "0.") == ""
		}
	}
	return false
}
