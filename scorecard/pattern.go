package scorecard

import (
	"fmt"
	"slices"
	"strings"
)

// maxTerms bounds a rule's terms. With maxGroups it keeps all keys of a Card,
// and the lane, within the bits of a uint64.
const maxTerms = 7

// A term is one key:value of a pattern.
type term struct {
	key   string
	value string // without the * if wild: then a prefix
	wild  bool
	slot  uint8
}

// matches reports whether the term stands for value.
func (t *term) matches(value string) bool {
	if t.wild {
		return strings.HasPrefix(value, t.value)
	}
	return value == t.value
}

// covers reports whether t matches every value that u matches.
func (t *term) covers(u *term) bool {
	if t.wild {
		return strings.HasPrefix(u.value, t.value)
	}
	return !u.wild && u.value == t.value
}

func (t *term) String() string {
	if t.wild {
		return t.key + ":" + t.value + "*"
	}
	return t.key + ":" + t.value
}

// parseMatch returns the terms of a pattern in their written order, and what
// each of those that cannot be used must be.
func parseMatch(s string) (terms []term, faults []string) {
	if strings.TrimSpace(s) == "" {
		return nil, []string{"must have a term such as tenant:*"}
	}
	// A pattern without end costs no more than one with a term too many.
	parts := strings.SplitN(s, ";", maxTerms+2)
	if len(parts) > maxTerms {
		return nil, []string{fmt.Sprintf("must have at most %d terms", maxTerms)}
	}
	for _, part := range parts {
		t, fault := parseTerm(part)
		if fault == "" && slices.ContainsFunc(terms, func(u term) bool { return u.key == t.key }) {
			fault = fmt.Sprintf("key %.80q must come once", t.key)
		}
		if fault != "" {
			faults = append(faults, fault)
			continue
		}
		terms = append(terms, t)
	}
	return terms, faults
}

func parseTerm(s string) (term, string) {
	key, value, ok := strings.Cut(s, ":")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	prefix, wild := strings.CutSuffix(value, "*")
	switch {
	case !ok || key == "":
		return term{}, fmt.Sprintf("term %.80q must be key:value", s)
	case strings.Contains(key, "*"):
		return term{}, fmt.Sprintf("key %.80q must not contain *", key)
	case strings.Contains(prefix, "*"):
		return term{}, fmt.Sprintf("value %.80q must have * at its end only", value)
	case len(prefix) > maxValue:
		return term{}, fmt.Sprintf("value of %.80q must be at most %d bytes, not %d", key, maxValue, len(prefix))
	}
	return term{key: key, value: prefix, wild: wild}, ""
}

// showMatch returns a pattern without the spaces that do not count.
func showMatch(terms []term) string {
	parts := make([]string, len(terms))
	for i := range terms {
		parts[i] = terms[i].String()
	}
	return strings.Join(parts, ";")
}
