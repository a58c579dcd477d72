package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	mostClients  = 256
	kneeRise     = 1.05 // doubling the clients must bring 5 % more to count as a rise; less is noise
	kneePatience = 2    // so many levels without a rise end a round: one could be a hiccup
)

// Capacity measures how many requests of the mix the target answers with success per second when it is as
// busy as it can be and not overloaded. Clients that each wait for their answer double in number, from one,
// until throughput stops rising; the throughput there, at the knee, is the round's result, and the median of
// the rounds, at least one, is returned. Each number of clients is held for window, of which the first fifth is not counted.
func Capacity(ctx context.Context, c *Client, mix *Mix, rounds int, window, deadline time.Duration, seed uint64) (float64, error) {
	var measured []float64
	for i := range rounds {
		rps, err := knee(ctx, c, mix, window, deadline, seed+uint64(i))
		if err != nil {
			return 0, err
		}
		measured = append(measured, rps)
	}
	slices.Sort(measured)
	return measured[len(measured)/2], nil
}

// knee is the throughput of the smallest number of clients after which it no longer rises.
func knee(ctx context.Context, c *Client, mix *Mix, window, deadline time.Duration, seed uint64) (float64, error) {
	var best float64
	for clients, flat := 1, 0; clients <= mostClients && flat < kneePatience; clients *= 2 {
		rps, err := closedLoop(ctx, c, mix, clients, window, deadline, seed)
		if err != nil {
			return 0, err
		}
		if rps > best*kneeRise {
			best, flat = rps, 0
		} else {
			flat++
		}
	}
	if best == 0 {
		return 0, errors.New("load: capacity: the target answered no request with success")
	}
	return best, nil
}

// closedLoop lets clients send one request after another for window and returns how many succeeded per second.
func closedLoop(ctx context.Context, c *Client, mix *Mix, clients int, window, deadline time.Duration, seed uint64) (float64, error) {
	var (
		mu   sync.Mutex
		good int
		dead int // refused connections in a row
		wg   sync.WaitGroup
	)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := time.Now()
	warm, end := start.Add(window/5), start.Add(window)
	for i := range clients {
		requests := rand.New(rand.NewPCG(seed, uint64(clients)<<32+uint64(i)))
		wg.Go(func() {
			for ctx.Err() == nil && time.Now().Before(end) {
				_, req := mix.draw(requests)
				sendCtx, stop := context.WithTimeout(ctx, deadline)
				a := c.send(sendCtx, req)
				stop()
				now := time.Now()
				mu.Lock()
				if a.err == nil && a.status/100 == 2 && now.After(warm) && now.Before(end) {
					good++
				}
				if !a.dead() {
					dead = 0
				} else if dead++; dead >= deadAfter {
					cancel(ErrDead)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return 0, fmt.Errorf("load: capacity: %w", context.Cause(ctx))
	}
	return float64(good) / end.Sub(warm).Seconds(), nil
}

// Check sends one request of each class and reports all that cannot be loaded: a target that cannot be
// reached, and classes that are answered with anything but success or a refusal for load.
func Check(ctx context.Context, c *Client, mix *Mix, timeout time.Duration) error {
	r := rand.New(rand.NewPCG(0, 0))
	var errs []error
	for _, class := range mix.classes {
		sendCtx, cancel := context.WithTimeout(ctx, timeout)
		a := c.send(sendCtx, class.Make(r))
		cancel()
		switch {
		case a.err != nil:
			return fmt.Errorf("load: %s: %w", class.Name, a.err)
		case a.status/100 != 2 && !a.shed():
			errs = append(errs, fmt.Errorf("load: %s: answered %d, must be 2xx", class.Name, a.status))
		}
	}
	return errors.Join(errs...)
}
