package scorecard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// A pair is a hold and what the oracle took for it.
type pair struct {
	hold  Hold
	taken []string
}

// A model drives a Card and the oracle with the same random steps.
type model struct {
	t    *testing.T
	rand *rand.Rand
	card *Card
	want oracle
	out  []pair
	now  time.Time
	all  []Rule // that rules are drawn from

	forms []*Form
}

// TestModel: whatever happens to a Card, it decides and counts as the oracle
// does, and in the end nothing is held.
func TestModel(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			m := newModel(t, seed)
			for range 500 {
				m.step()
			}
			for len(m.out) > 0 {
				m.release()
			}
			m.check()
			checkQuiet(t, m.card)
			for id, n := range m.want.counts {
				if n != 0 {
					t.Errorf("the oracle holds %d on %s", n, id)
				}
			}
		})
	}
}

func newModel(t *testing.T, seed uint64) *model {
	m := &model{t: t, rand: rand.New(rand.NewPCG(seed, 0)), now: t0}
	m.card = new(Card)
	m.forms = formsOf(m.card)
	m.want = oracle{counts: map[string]int{}, known: map[string]bool{}, used: map[string]bool{}, limits: map[string]int{}}
	// More exact rules in some groups than are compared in turn.
	tenants := []string{"*", "a*", "ab*", "", "a", "b", "ab", "abc", "c0", "c1", "c2", "c3", "c4", "c5", "c6"}
	for i := range 60 {
		var terms []string
		for _, term := range []string{
			"tenant:" + tenants[m.rand.IntN(len(tenants))],
			"op:" + []string{"*", "read", "write", "r*"}[m.rand.IntN(4)],
			"lane:" + []string{"*", "read", "write"}[m.rand.IntN(3)],
		} {
			if i < 20 && len(terms) > 0 {
				break // a third of them about tenants alone
			}
			if m.rand.IntN(2) == 0 || i < 20 {
				terms = append(terms, term)
			}
		}
		if len(terms) == 0 {
			terms = []string{"tenant:*"}
		}
		m.rand.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
		m.all = append(m.all, Rule{Name: fmt.Sprint("r", i), Match: strings.Join(terms, ";")})
	}
	m.setMax()
	m.setRules()
	return m
}

func (m *model) step() {
	switch p := m.rand.IntN(100); {
	case p < 60:
		m.acquire()
	case p < 85:
		m.release()
	case p < 88:
		m.setRules()
	case p < 92:
		m.setLimit()
	case p < 95:
		m.want.pressed = !m.want.pressed
		m.card.SetPressed(m.want.pressed)
	case p < 99:
		m.now = m.now.Add(time.Second)
		m.card.Sweep(m.now)
		m.want.sweep()
	default:
		m.setMax()
	}
	m.check()
}

func (m *model) acquire() {
	value := func(values ...string) string { return values[m.rand.IntN(len(values))] }
	var tags []Tag
	for range m.rand.IntN(6) {
		tags = append(tags, []Tag{
			{"tenant", value("", "a", "ab", "abc", "b", "c0", "c3", "c6", "d", "service-1-of-tenant-a", "service-2-of-tenant-a", "a"+padding)},
			{"op", value("", "read", "write", "rest", "w")},
			{"lane", value("", "default", "read", "write", "none")},
			{"caller", "x"},
		}[m.rand.IntN(4)])
	}
	hold, passed, err := m.ask(tags)
	taken, refusedBy := m.want.acquire(tags)
	checkVerdict(m.t, err, refusedBy)
	if m.t.Failed() {
		m.t.Fatalf("at tags %.40q, rules %v", tags, m.want.rules)
	}
	switch {
	case passed:
		m.want.release(taken)
	case err == nil:
		m.out = append(m.out, pair{hold, taken})
	}
}

// formsOf are some orders of keys, and some values that are fixed.
func formsOf(c *Card) (forms []*Form) {
	for _, keys := range [][]string{{"tenant", "op"}, {"caller", "op", "lane", "tenant"}, {"lane", "tenant"}, {"tenant", "tenant"}, {"op"}, {"tenant"}, {}} {
		forms = append(forms, c.NewForm(keys))
		for _, lane := range []string{"default", "read", "none"} {
			for _, op := range []string{"read", "write"} {
				forms = append(forms, c.NewForm(keys, Tag{"lane", lane}), c.NewForm(keys, Tag{"op", op}, Tag{"lane", lane}))
			}
		}
	}
	return forms
}

// ask asks in a form that the tags have, if there is one, and then may let the
// request pass.
func (m *model) ask(tags []Tag) (h Hold, passed bool, err error) {
	var values []string
	for _, t := range tags {
		values = append(values, t.Value)
	}
	for _, i := range m.rand.Perm(len(m.forms)) {
		f := m.forms[i]
		n := len(f.keys)
		if n > len(values) || !slices.Equal(f.tags(nil, values[:n]), tags) {
			continue
		}
		m.card.Lock()
		defer m.card.Unlock()
		answer, why := m.card.AskLocked(f, values[:n])
		if why != nil {
			return h, false, why
		}
		if m.rand.IntN(4) == 0 {
			answer.PassLocked()
			return h, true, nil
		}
		answer.TakeLocked(&h)
		return h, false, nil
	}
	h, err = m.card.Acquire(tags)
	return h, false, err
}

func (m *model) release() {
	if len(m.out) == 0 {
		return
	}
	i := m.rand.IntN(len(m.out))
	if h := &m.out[i].hold; m.rand.IntN(2) == 0 {
		h.Release()
	} else {
		m.card.Lock()
		h.ReleaseLocked()
		m.card.Unlock()
	}
	m.want.release(m.out[i].taken)
	m.out[i] = m.out[len(m.out)-1]
	m.out = m.out[:len(m.out)-1]
}

// setRules draws some rules with new caps; a rule keeps its name and match.
func (m *model) setRules() {
	draw := func() Cap {
		if m.rand.IntN(3) == 0 {
			return Cap{Share: m.rand.Float64()}
		}
		return Cap{N: m.rand.IntN(5)}
	}
	var rules []Rule
	for _, i := range m.rand.Perm(len(m.all))[:m.rand.IntN(40)] {
		r := m.all[i]
		r.Cap, r.Shadow = draw(), m.rand.IntN(5) == 0
		if up := draw(); m.rand.IntN(2) == 0 {
			r.UnderPressure = &up
		}
		if r.Validate() != nil {
			continue
		}
		with := append(rules, r)
		if _, err := compile(with); err == nil || !strings.Contains(err.Error(), "must not stand after") {
			rules = with
		}
	}
	if err := m.card.SetRules(rules...); err != nil {
		return // more than 8 groups: nothing may have changed
	}
	m.want.setRules(rules)
	for i := range m.out {
		for j, id := range m.out[i].taken {
			if !m.want.has(id) {
				m.out[i].taken[j] = ""
			}
		}
	}
}

func (m *model) setLimit() {
	lane, n := []string{"default", "read", "write"}[m.rand.IntN(3)], m.rand.IntN(12)-1
	m.card.SetLimit(lane, n)
	m.want.limits[lane] = n
	if n < 1 {
		delete(m.want.limits, lane)
	}
}

func (m *model) setMax() {
	m.want.max = 1 + m.rand.IntN(20)
	m.card.SetMaxTenants(m.want.max)
}

// check compares what is held, rule by rule.
func (m *model) check() {
	checkCard(m.t, m.card)
	for i, n := range m.card.Counts() {
		r := m.want.rules[i]
		id := r.Name + "|" + r.Match + "|"
		held, distinct := 0, 0
		for key, n := range m.want.counts {
			if strings.HasPrefix(key, id) {
				held += n
			}
		}
		for key := range m.want.known {
			if strings.HasPrefix(key, id) {
				distinct++
			}
		}
		if n.Rule != r.Name || n.Held != held || n.Distinct != distinct {
			m.t.Fatalf("got %+v, want rule %s, %d held, %d distinct", n, r.Name, held, distinct)
		}
	}
}
