package scorecard

import (
	"math"
	"strings"
)

// An oracle is the slow and obvious Card: rules are matched term by term as
// text, counters live in one map by text, and a group is whatever names the
// same keys.
type oracle struct {
	rules   []Rule
	counts  map[string]int // by rule, match and values
	known   map[string]bool
	used    map[string]bool
	max     int
	limits  map[string]int
	pressed bool
}

func (o *oracle) setRules(rules []Rule) {
	o.rules = rules
	for id := range o.known {
		if !o.has(id) {
			delete(o.known, id)
		}
	}
	// The counts of rules that went are of no rule to come.
	for id := range o.counts {
		if !o.has(id) {
			delete(o.counts, id)
		}
	}
}

func (o *oracle) has(id string) bool {
	for _, r := range o.rules {
		if strings.HasPrefix(id, r.Name+"|"+r.Match+"|") {
			return true
		}
	}
	return false
}

// acquire returns the counters taken, or the name of the rule that refuses.
func (o *oracle) acquire(tags []Tag) (taken []string, refusedBy string) {
	facts := make(map[string]string)
	for _, t := range tags {
		if _, ok := facts[t.Key]; !ok {
			facts[t.Key] = t.Value
		}
	}
	var groups []string
	for _, r := range o.rules {
		group := groupOf(r)
		seen := false
		for _, g := range groups {
			seen = seen || g == group
		}
		if seen {
			continue
		}
		groups = append(groups, group)
		for _, r := range o.rules {
			values, ok := matchText(r.Match, facts)
			if groupOf(r) != group || !ok {
				continue
			}
			id := o.counter(r, values)
			o.used[id] = true
			switch full := o.counts[id] >= o.bound(r, facts["lane"]); {
			case full && !r.Shadow:
				return nil, r.Name
			case !full:
				taken = append(taken, id)
			}
			break
		}
	}
	for _, id := range taken {
		o.counts[id]++
	}
	return taken, ""
}

func (o *oracle) counter(r Rule, values []string) string {
	id := r.Name + "|" + r.Match + "|"
	if !strings.Contains(r.Match, "*") {
		return id
	}
	own := id + strings.Join(values, "|")
	for _, v := range values {
		if len(v) > 256 {
			return id + "other"
		}
	}
	if !o.known[own] && len(o.known) >= o.max {
		return id + "other"
	}
	o.known[own] = true
	return own
}

func (o *oracle) bound(r Rule, lane string) int {
	if lane == "" {
		lane = "default"
	}
	of := func(c Cap) int {
		limit, known := o.limits[lane]
		switch {
		case c.Share == 0:
			return c.N
		case !known:
			return math.MaxInt
		}
		return max(2, int(math.Round(c.Share*float64(limit))))
	}
	if o.pressed && r.UnderPressure != nil {
		return min(of(r.Cap), of(*r.UnderPressure))
	}
	return of(r.Cap)
}

// release gives back what is still counted: the counters of rules that went
// are nobody's.
func (o *oracle) release(taken []string) {
	for _, id := range taken {
		if id != "" {
			o.counts[id]--
			o.used[id] = true
		}
	}
}

func (o *oracle) sweep() {
	for id := range o.known {
		if o.counts[id] == 0 && !o.used[id] {
			delete(o.known, id)
		}
	}
	clear(o.used)
}

// groupOf returns the keys of a rule in alphabetical order, for the few keys
// that the tests use.
func groupOf(r Rule) string {
	group := ""
	for _, key := range []string{"lane", "op", "tenant"} {
		if strings.Contains(";"+r.Match, ";"+key+":") {
			group += key + " "
		}
	}
	if r.Shadow {
		group += "shadow"
	}
	return group
}

// matchText reports whether a pattern matches, and the values that * stood for.
func matchText(match string, facts map[string]string) (values []string, ok bool) {
	for _, part := range strings.Split(match, ";") {
		key, want, _ := strings.Cut(part, ":")
		value, ok := facts[key]
		switch prefix, wild := strings.CutSuffix(want, "*"); {
		case !ok, wild && !strings.HasPrefix(value, prefix), !wild && value != want:
			return nil, false
		case wild:
			values = append(values, value)
		}
	}
	return values, true
}
