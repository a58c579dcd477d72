package httpmw

import (
	"net/http"
	"strings"

	"github.com/spillway-go/spillway/admission"
)

// urgencies maps u of RFC 9218 to tiers. Its default, 3, is ours; nobody gets
// the tier of critical infrastructure for an urgent picture.
var urgencies = [...]admission.Tier{
	admission.T1, admission.T1, admission.T2, admission.T3, admission.T3, admission.T4, admission.T4, admission.T5,
}

// priority is what the headers ask for, zero for nothing.
func (h *Headers) priority(header http.Header) admission.Priority {
	const longest = len("t5/127") // do not build an error about a long one
	if s := single(header, h.Priority); s != "" && len(s) <= longest {
		if p, err := admission.ParsePriority(s); err == nil {
			return p
		}
	}
	if h.Urgency {
		if u, ok := urgency(header["Priority"]); ok {
			return urgencies[u].Priority()
		}
	}
	return 0
}

// urgency reads u from a Priority header (RFC 9218, 4.1), a dictionary of RFC
// 9651. Of several u the last counts, and one that is no integer from 0 to 7 is
// as good as none. Other members are skipped without a look at their syntax:
// that a stranger's extension is malformed is no reason to doubt his u.
func urgency(lines []string) (u int, ok bool) {
	for _, line := range lines {
		for line != "" {
			var member string
			member, line = cutMember(line)
			key, value, _ := strings.Cut(member, "=")
			if bare, _, params := strings.Cut(key, ";"); params {
				key, value = bare, "" // "u;x=1" is the boolean true
			}
			if key != "u" {
				continue
			}
			value, _, _ = strings.Cut(value, ";")
			n, isDigit := digits(strings.TrimRight(value, " \t"), 1)
			u, ok = int(n), isDigit && n < 8
		}
	}
	return u, ok
}

// cutMember cuts a list at its first comma outside a quoted string, and trims
// the member.
func cutMember(s string) (member, rest string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			return strings.Trim(s[:i], " \t"), s[i+1:]
		}
	}
	return strings.Trim(s, " \t"), ""
}

func isTokenByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
