package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// ServiceTimes measures how long the target takes for requests of the mix that have it to themselves: one
// client asks one after the other for p.Window, longer where hardly one was answered by then. It returns the times of those answered with success, the
// shortest first, at speed 1 if there is p.Speed.
func ServiceTimes(ctx context.Context, c *Client, p Probe) ([]time.Duration, error) {
	requests := rand.New(rand.NewPCG(p.Seed, 3))
	start := time.Now()
	end, last := start.Add(p.Window), start.Add(mostWindows*p.Window)
	var took []time.Duration
	for now := start; now.Before(end) || len(took) < leastGood && now.Before(last); now = time.Now() {
		_, req := p.Mix.draw(requests)
		sendCtx, stop := context.WithTimeout(ctx, p.Deadline)
		a := c.send(sendCtx, req)
		stop()
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("load: service times: %w", context.Cause(ctx))
		case a.dead():
			return nil, fmt.Errorf("load: service times: %w", ErrDead)
		case a.err == nil && a.status/100 == 2:
			took = append(took, time.Since(now))
		}
	}
	if len(took) == 0 {
		return nil, errNoCapacity
	}
	slices.Sort(took)
	if p.Speed == nil {
		return took, nil
	}
	speed, err := p.Speed(start, time.Now())
	for i := range took {
		took[i] = time.Duration(float64(took[i]) * speed)
	}
	return took, err
}
