package httpmw

import (
	"net/http"
	"strings"
)

// claimsStream tells whether r's headers announce a long life: an Upgrade, or
// an event stream. It is only a claim, see [Config.StreamLane].
func claimsStream(r *http.Request) bool {
	if len(r.Header["Upgrade"]) > 0 {
		return true
	}
	for _, line := range r.Header["Accept"] {
		for line != "" {
			var part string
			part, line = cutMember(line)
			if isEventStream(part) {
				return true
			}
		}
	}
	return false
}

// isEventStream tells whether a media type, with or without parameters, is that
// of server-sent events.
func isEventStream(media string) bool {
	media, _, _ = strings.Cut(media, ";")
	return strings.EqualFold(strings.TrimSpace(media), "text/event-stream")
}

// sendsEvents tells whether the response under way is an event stream.
func sendsEvents(header http.Header) bool {
	v := header["Content-Type"]
	return len(v) > 0 && isEventStream(v[0])
}
