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

	// A window goes on until so many succeeded, or a target that stood still for its length would have no capacity;
	// but for no longer than so many windows.
	leastGood   = 5
	mostWindows = 5
)

var errNoCapacity = errors.New("load: capacity: the target answered no request with success")

// Probe says how to measure a capacity.
type Probe struct {
	Mix      *Mix
	Rounds   int           // of the search for the knee, at least one
	Windows  int           // of the measurement there, at least one
	Window   time.Duration // for which each number of clients is held, at least; its first fifth is not counted
	Deadline time.Duration // how long a client waits
	Seed     uint64        // of what is requested

	// Speed says how fast the target was between two times, in any unit: throughput is divided by it. Nil
	// stands for a target that is equally fast all the time.
	Speed func(from, to time.Time) (float64, error)
}

// Capacity measures how many requests of the mix the target answers with success per second when it is as
// busy as it can be and not overloaded. Clients that each wait for their answer double in number, from one,
// until throughput stops rising; that is done p.Rounds times. At the median of the numbers found, and at twice as
// many (with which a core that waited now and then for its next request waits no more), throughput is then measured
// p.Windows times, and the higher of the two medians is returned: the highest of several short windows, by
// which the number was found, flatters the target by a tenth, and one window is off by as much. With p.Speed all
// that is of the throughput at speed 1, so that a machine that gets slower or faster on the way is not mistaken for
// a knee.
func Capacity(ctx context.Context, c *Client, p Probe) (float64, error) {
	var knees []int
	for range p.Rounds {
		clients, err := knee(ctx, c, p)
		if err != nil {
			return 0, err
		}
		knees = append(knees, clients)
		p.Seed++
	}
	slices.Sort(knees)
	most := 0.0
	for _, clients := range []int{knees[len(knees)/2], 2 * knees[len(knees)/2]} {
		rps, err := throughput(ctx, c, p, clients)
		if err != nil {
			return 0, err
		}
		most = max(most, rps)
		p.Seed += uint64(p.Windows)
	}
	if most == 0 {
		return 0, errNoCapacity
	}
	return most, nil
}

// throughput is the median of p.Windows windows with so many clients.
func throughput(ctx context.Context, c *Client, p Probe, clients int) (float64, error) {
	var measured []float64
	for range p.Windows {
		rps, err := closedLoop(ctx, c, p, clients)
		if err != nil {
			return 0, err
		}
		measured = append(measured, rps)
		p.Seed++
	}
	slices.Sort(measured)
	return measured[len(measured)/2], nil
}

// knee is the smallest number of clients after which throughput no longer rises.
func knee(ctx context.Context, c *Client, p Probe) (int, error) {
	best, at := 0.0, 0
	for clients, flat := 1, 0; clients <= mostClients && flat < kneePatience; clients *= 2 {
		rps, err := closedLoop(ctx, c, p, clients)
		if err != nil {
			return 0, err
		}
		if rps > best*kneeRise {
			best, at, flat = rps, clients, 0
		} else {
			flat++
		}
	}
	if best == 0 {
		return 0, errNoCapacity
	}
	return at, nil
}

// closedLoop lets clients send one request after another for p.Window, longer where hardly one was answered by
// then, and returns how many succeeded per second, at speed 1.
func closedLoop(ctx context.Context, c *Client, p Probe, clients int) (float64, error) {
	var (
		mu   sync.Mutex
		good int
		dead int // refused connections in a row
		wg   sync.WaitGroup
	)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := time.Now()
	warm, end, last := start.Add(p.Window/5), start.Add(p.Window), start.Add(mostWindows*p.Window)
	going := func() bool {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		return ctx.Err() == nil && (now.Before(end) || good < leastGood && now.Before(last))
	}
	took := func(a answer) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if a.err == nil && a.status/100 == 2 && now.After(warm) && (now.Before(end) || good < leastGood) {
			good++
			if now.After(end) {
				end = now
			}
		}
		if !a.dead() {
			dead = 0
		} else if dead++; dead >= deadAfter {
			cancel(ErrDead)
		}
	}
	for i := range clients {
		requests := rand.New(rand.NewPCG(p.Seed, uint64(clients)<<32+uint64(i)))
		wg.Go(func() {
			for going() {
				_, req := p.Mix.draw(requests)
				sendCtx, stop := context.WithTimeout(ctx, p.Deadline)
				took(c.send(sendCtx, req))
				stop()
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return 0, fmt.Errorf("load: capacity: %w", context.Cause(ctx))
	}
	rps := float64(good) / end.Sub(warm).Seconds()
	if p.Speed == nil {
		return rps, nil
	}
	speed, err := p.Speed(warm, end)
	return rps / speed, err
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
			errs = append(errs, fmt.Errorf("load: %s: answered %d, must be 2xx%s", class.Name, a.status, a.saying()))
		}
	}
	return errors.Join(errs...)
}
