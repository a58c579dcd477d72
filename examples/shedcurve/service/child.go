package service

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/spillway-go/spillway/examples/internal/process"
	"github.com/spillway-go/spillway/examples/shedcurve/load"
	"github.com/spillway-go/spillway/examples/shedcurve/speed"
)

const childReset = 20 * time.Second // for its requests to end and its data to be restored

// Child is the order service in a process of its own.
type Child struct {
	*process.Child
	At Addresses
}

// Start starts this program again with args, with which it must be the service, and waits until it listens. what names it in
// errors.
func Start(ctx context.Context, what string, args ...string) (*Child, error) {
	c := &Child{}
	var err error
	c.Child, err = process.Start(ctx, what, &c.At, args...)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Usage asks what the service has used.
func (c *Child) Usage(ctx context.Context) (u Usage, err error) {
	err = c.Ask(ctx, http.MethodGet, "/usage", &u)
	return u, err
}

// Speed asks for the gauge's readings since the last reset.
func (c *Child) Speed(ctx context.Context) (r speed.Readings, err error) {
	if err = c.Ask(ctx, http.MethodGet, "/speed", &r); err == nil && len(r) == 0 {
		err = errors.New("asking the service: /speed: no readings")
	}
	return r, err
}

// Reset waits until the service is idle and restores its data, and says what it has used until then.
func (c *Child) Reset(ctx context.Context) (u Usage, err error) {
	ctx, cancel := context.WithTimeout(ctx, childReset)
	defer cancel()
	err = c.Ask(ctx, http.MethodPost, "/reset", &u)
	return u, err
}

// Ask sends a request to the service's other address and decodes the answer, as [process.Ask] does.
func (c *Child) Ask(ctx context.Context, method, path string, answer any) error {
	return process.Ask(ctx, "the service", method, "http://"+c.At.Admin+path, answer)
}

// Capacity resets the service and measures its capacity, at the speed that the machine has for most of that time, which is
// then the reference of m. p's Speed is set.
func (c *Child) Capacity(ctx context.Context, client *load.Client, p load.Probe, m *speed.Speedometer) (float64, error) {
	if _, err := c.Reset(ctx); err != nil {
		return 0, err
	}
	p.Speed = func(from, to time.Time) (float64, error) {
		read, err := c.Speed(ctx)
		if err != nil {
			return 0, err
		}
		return 1 / read.Median(from, to).Seconds(), nil
	}
	start := time.Now()
	perSpeed, err := load.Capacity(ctx, client, p)
	if err != nil {
		return 0, err
	}
	read, err := c.Speed(ctx)
	if err != nil {
		return 0, err
	}
	m.Reference = read.Median(start, time.Now())
	return perSpeed / m.Reference.Seconds(), nil
}
