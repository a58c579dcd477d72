package promql

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/spillway-go/spillway/regulators"
)

type signal struct {
	api   prometheus.API
	query string
}

// New returns a Signal that asks for query, as an instant query at the server's own
// time, each time it is polled. The query must give a scalar or a vector of one sample,
// finite and at least 0, in which 1 is as much as the resource should bear: divide
// within it, or put [regulators.Scaled] around the Signal.
//
// client is made with [api.NewClient] and must not be nil; TLS, headers and the
// server's credentials are those of the http.Client given to it. query must not be
// empty; whether the server understands it shows at the first poll.
//
// A poll blocks for one HTTP request, at most until ctx is done: the controller
// bounds it by the regulator's time-out. It returns an error that names the query
// when the server cannot be reached, refuses the query or answers nonsense, and for a
// value of another type, NaN, an infinity, a negative or more than one sample. A
// vector without samples is [regulators.ErrNoReading]: the series do not exist, or
// are stale. Warnings beside a value are ignored. The Signal is safe for
// concurrent use.
func New(client api.Client, query string) (regulators.Signal, error) {
	var errs []error
	if client == nil {
		errs = append(errs, errors.New("promql: client is nil"))
	}
	if strings.TrimSpace(query) == "" {
		errs = append(errs, fmt.Errorf("promql: query is %q, must not be empty", query))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return signal{api: prometheus.NewAPI(client), query: query}, nil
}

func (s signal) Pressure(ctx context.Context) (float64, error) {
	// No time is sent, so that it is the server's: ours may differ by more than its
	// series reach back.
	value, _, _, err := s.api.Query(ctx, s.query, time.Time{})
	if err != nil {
		return 0, fmt.Errorf("promql: query %q: %w", s.query, err)
	}
	pressure, err := single(value)
	if err != nil {
		return 0, fmt.Errorf("promql: query %q: %w", s.query, err)
	}
	return pressure, nil
}

// single returns the one number that an answer must be.
func single(value model.Value) (float64, error) {
	var pressure float64
	switch value := value.(type) {
	case *model.Scalar:
		pressure = float64(value.Value)
	case model.Vector:
		switch {
		case len(value) == 0:
			return 0, fmt.Errorf("%w: the answer has no sample", regulators.ErrNoReading)
		case len(value) > 1:
			return 0, fmt.Errorf("the answer has %d samples, must have one: sum, max or the like is missing", len(value))
		case value[0].Histogram != nil:
			return 0, errors.New("the answer is a histogram, must be a number")
		}
		pressure = float64(value[0].Value)
	case nil:
		return 0, errors.New("the answer has no value")
	default:
		return 0, fmt.Errorf("the answer is a %s, must be a scalar or a vector", value.Type())
	}
	if math.IsNaN(pressure) || math.IsInf(pressure, 0) || pressure < 0 {
		return 0, fmt.Errorf("the answer is %v, must be finite and at least 0", pressure)
	}
	return pressure, nil
}
