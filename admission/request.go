package admission

import (
	"errors"
	"fmt"

	"github.com/spillway-go/spillway/scorecard"
)

// Request says what is known of a request before it runs. The zero value is a
// request of unclassified priority in the default lane, of cost 1. It is
// passed by value and not kept after its ticket is released.
type Request struct {
	Lane     string   // a lane of the Config; "" is "default"; another name is an error
	Priority Priority // zero: the caller's entry in the Config, else its default

	Tenant string // who is charged; "" is a tenant like any other
	Caller string // the calling service
	Op     string // the operation, a route or a method: few distinct values
	Key    string // what the request is about, stable over its retries; feeds the gate's hash

	Cost    int             // slots it takes; zero is one, or what the lane has learned (LaneConfig.MaxCost); negative an error; more than the limit counts as the whole of it
	Bytes   int64           // payload, for guards that count bytes; negative is an error
	Attempt int             // 0 for the first try, n for the n-th retry; negative is an error
	Tags    []scorecard.Tag // more facts for the scorecard's rules

	// Stream marks what lives as long as its caller pleases: it holds its slots
	// until it is released, but neither how it comes out nor how long it takes,
	// past its deadline or not, tells the limit's law anything.
	Stream bool
}

// complain says what is wrong with a request.
func (p *plan) complain(r *Request) error {
	var errs []error
	if p.lane(r.Lane) == nil {
		errs = append(errs, fmt.Errorf("admission: request's lane is %.64q: not a lane of the config", r.Lane))
	}
	for _, f := range []struct {
		name  string
		value int64
	}{{"cost", int64(r.Cost)}, {"bytes", r.Bytes}, {"attempt", int64(r.Attempt)}} {
		if f.value < 0 {
			errs = append(errs, fmt.Errorf("admission: request's %s is %d: must not be negative", f.name, f.value))
		}
	}
	return errors.Join(errs...)
}
