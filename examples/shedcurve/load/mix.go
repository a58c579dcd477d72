package load

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
)

// Request is one request to send, relative to the target's URL, or one call of a gRPC method.
type Request struct {
	Method string            // of HTTP, or a full gRPC method: "/package.Service/Method"
	Path   string            // begins with "/", may have a query; empty for a call
	Body   string            // JSON, which a call's message is made of; empty for none
	Tenant string            // sent as X-Tenant and counted by; empty for none
	Header map[string]string // or metadata
}

// isCall tells whether r is for gRPC.
func (r Request) isCall() bool { return strings.HasPrefix(r.Method, "/") }

// Class is a kind of request that a mix is made of.
type Class struct {
	Name   string  // for messages
	Weight float64 // share in the mix, relative to the other classes' weights; positive
	Tier   string  // "t0" to "t5": what it is counted under

	// Make draws one request. It is called by one goroutine at a time and must depend on r alone,
	// so that a seed stands for one sequence of requests.
	Make func(r *rand.Rand) Request
}

// Mix draws requests of several classes by weight. It is immutable and safe for concurrent use; make one
// with NewMix.
type Mix struct {
	classes    []Class
	cumulative []float64
}

// NewMix checks the classes and returns their mix. All problems are reported at once.
func NewMix(classes ...Class) (*Mix, error) {
	var errs []error
	if len(classes) == 0 {
		errs = append(errs, errors.New("load: classes: none, must be at least one"))
	}
	m := &Mix{classes: slices.Clone(classes)}
	var sum float64
	for i, c := range classes {
		if !(c.Weight > 0) || math.IsInf(c.Weight, 0) {
			errs = append(errs, fmt.Errorf("load: classes[%d] %q: weight is %v, must be positive and finite", i, c.Name, c.Weight))
		}
		if !isTier(c.Tier) {
			errs = append(errs, fmt.Errorf(`load: classes[%d] %q: tier is %q, must be "t0" to "t5"`, i, c.Name, c.Tier))
		}
		if c.Make == nil {
			errs = append(errs, fmt.Errorf("load: classes[%d] %q: make is nil, must be a function", i, c.Name))
		}
		sum += c.Weight
		m.cumulative = append(m.cumulative, sum)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return m, nil
}

// Classes returns the mix's classes, in the order given.
func (m *Mix) Classes() []Class { return slices.Clone(m.classes) }

// draw picks a class by weight and makes one of its requests.
func (m *Mix) draw(r *rand.Rand) (*Class, Request) {
	at := r.Float64() * m.cumulative[len(m.cumulative)-1]
	i := sort.Search(len(m.cumulative)-1, func(i int) bool { return m.cumulative[i] > at })
	return &m.classes[i], m.classes[i].Make(r)
}

func isTier(s string) bool { return len(s) == 2 && s[0] == 't' && s[1] >= '0' && s[1] <= '5' }
