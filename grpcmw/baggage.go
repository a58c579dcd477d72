package grpcmw

import (
	"context"
	"net/url"
	"strings"

	"google.golang.org/grpc/metadata"
)

// Members of W3C baggage in which priority and tenant travel.
const (
	PriorityMember = "admission.priority"
	TenantMember   = "admission.tenant"
)

const (
	baggageKey = "baggage"

	// maxBaggage is how long a list every hop must carry on (W3C Baggage, 3.3.2),
	// and as much as is read of one.
	maxBaggage = 8192
)

// baggageOf is the baggage that came with a call. Several headers are one list.
func baggageOf(ctx context.Context) string {
	bag := strings.Join(metadata.ValueFromIncomingContext(ctx, baggageKey), ",")
	if len(bag) > maxBaggage {
		return ""
	}
	return bag
}

// member is the value of a list's member: false if it is not there, there more
// than once, or malformed.
func member(bag, key string) (value string, ok bool) {
	found := 0
	for bag != "" {
		var m string
		m, bag, _ = strings.Cut(bag, ",")
		m, _, _ = strings.Cut(m, ";") // properties
		k, v, _ := strings.Cut(m, "=")
		if strings.Trim(k, " \t") != key {
			continue
		}
		found++
		decoded, err := url.PathUnescape(strings.Trim(v, " \t"))
		value, ok = decoded, err == nil
	}
	if found != 1 || !ok {
		return "", false
	}
	return value, true
}

// setMember returns the list with one member set, in place of what it said of
// that before. Where that would become too long, it says nothing of it any
// more: a value left from before would be taken for the new one.
func setMember(bag, key, value string) string {
	var others string
	for bag != "" {
		var m string
		m, bag, _ = strings.Cut(bag, ",")
		k, _, _ := strings.Cut(m, "=")
		if k = strings.Trim(k, " \t"); k != "" && k != key {
			others += "," + strings.Trim(m, " \t")
		}
	}
	if set := key + "=" + url.PathEscape(value); len(set)+len(others) <= maxBaggage {
		return set + others
	}
	return strings.TrimPrefix(others, ",")
}
