package promadmission

import (
	"sync"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/internal/facts"
	"github.com/spillway-go/spillway/scorecard"
)

const (
	otherTenants = "_other"  // as shown
	otherBucket  = "(other)" // as the scorecard has it: beyond its max_tenants
	longestName  = 64        // bytes of a tenant's name that are shown
)

// others keeps what was refused of tenants that are not shown, a number that must
// only grow though the rest of the rule's sum does not: it falls when a tenant
// comes among those shown with all that was refused of him before.
type others struct {
	k int

	mu    sync.Mutex
	rules map[string]*otherOf // by name
}

type otherOf struct {
	total   uint64 // the rule's, when last seen
	refused uint64 // of the others
	ahead   uint64 // by how much the shown ones have risen more than the rule
	shown   map[string]uint64
}

func newOthers(k int) *others { return &others{k: k, rules: map[string]*otherOf{}} }

// look takes a snapshot, and splits its tenants. Two who scrape at once must not be
// in each other's way: a snapshot that comes after a younger one would look like
// rules that have begun anew.
func (o *others) look(ctrl *admission.Controller) (admission.Stats, []scorecard.TenantCount) {
	if o.k == 0 {
		return ctrl.Stats(), nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s := ctrl.Stats()
	return s, o.split(s.Rules, s.Tenants)
}

// split returns the tenants to show and one for the others of each rule. Rules
// that are gone are forgotten.
func (o *others) split(rules []scorecard.Count, top []scorecard.TenantCount) (show []scorecard.TenantCount) {
	names := o.named(top)
	kept := make(map[string]*otherOf, len(rules))
	for i := range rules {
		r := &rules[i]
		if !r.Wild {
			continue
		}
		was := o.rules[r.Rule]
		total := r.Refused + r.Shadowed
		if was == nil || total < was.total { // new, or another rule of that name
			was = &otherOf{}
		}
		now := &otherOf{total: total, shown: map[string]uint64{}}
		others := scorecard.TenantCount{Rule: r.Rule, Value: otherTenants, Held: r.Held}
		grown, shown := total-was.total, was.ahead
		for _, t := range names {
			if t.Rule != r.Rule {
				continue
			}
			show = append(show, t)
			others.Held -= t.Held
			now.shown[t.Value] = t.Refused
			if before, ok := was.shown[t.Value]; ok {
				shown += rise(before, t.Refused)
			}
		}
		// Tenants are read a moment after their rule: what they are ahead now the rule
		// makes up for at the next look.
		now.ahead = shown - min(shown, grown)
		now.refused = was.refused + grown - min(shown, grown)
		others.Held, others.Refused = max(others.Held, 0), now.refused // read a moment apart
		show = append(show, others)
		kept[r.Rule] = now
	}
	o.rules = kept
	return show
}

// rise is by how much a counter rose, which has begun anew if it fell.
func rise(from, to uint64) uint64 {
	if to < from {
		return to
	}
	return to - from
}

// named are the first k of top whose names can be shown. Of two that look alike
// once shortened and made valid the first is; the other one, who calls himself
// what stands for the others, and the scorecard's own bucket are among the others.
func (o *others) named(top []scorecard.TenantCount) (names []scorecard.TenantCount) {
	seen := map[[2]string]bool{}
	for _, t := range top {
		if len(names) == o.k {
			break
		}
		if len(t.Value) > longestName {
			t.Value = t.Value[:longestName]
		}
		t.Value = facts.Valid(t.Value)
		key := [2]string{t.Rule, t.Value}
		if t.Value == otherTenants || t.Value == otherBucket || seen[key] {
			continue
		}
		seen[key] = true
		names = append(names, t)
	}
	return names
}
