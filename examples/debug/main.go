// Command debug serves the page for whoever is on call. Run it and open the address
// that it prints: it overloads itself, so the page has something to tell. A backlog of
// writes is its signal; t1 gets through, the rest is shed as the backlog demands.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/debug"
	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:6060", "where to serve the page")
	rate := flag.Int("rate", 300, "requests a second, of which 150 can be written")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *addr, *rate); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, addr string, rate int) error {
	if rate < 1 || rate > 100_000 {
		return fmt.Errorf("rate is %d: must be from 1 to 100000", rate)
	}
	s := &store{}
	ctrl, err := control(s)
	if err != nil {
		return err
	}
	defer ctrl.Close()

	// A listener of its own, which only those on call reach.
	admin := http.NewServeMux()
	admin.Handle("/debug/admission", debug.Handler(ctrl))

	srv := &http.Server{Addr: addr, Handler: admin, ReadHeaderTimeout: 5 * time.Second}
	var running sync.WaitGroup
	running.Go(func() { s.drain(ctx) })
	running.Go(func() { drive(ctx, ctrl, s, rate) })
	running.Go(func() {
		<-ctx.Done()
		_ = srv.Close()
	})
	log.Printf("look at http://%s/debug/admission", addr)
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	running.Wait()
	return nil
}

// store writes 150 a second and keeps the rest for later.
type store struct{ backlog atomic.Int64 }

const writes = 150

// lag is how many seconds the store is behind, over the two that it may be.
func (s *store) lag(context.Context) (float64, error) {
	return float64(s.backlog.Load()) / (2 * writes), nil
}

func (s *store) drain(ctx context.Context) {
	tick := time.NewTicker(time.Second / writes)
	defer tick.Stop()
	for ctx.Err() == nil {
		<-tick.C
		if s.backlog.Load() > 0 {
			s.backlog.Add(-1)
		}
	}
}

func control(s *store) (*admission.Controller, error) {
	return admission.New(admission.Config{
		Lanes: map[string]admission.LaneConfig{"write": {}},
		Scorecard: admission.ScorecardConfig{Rules: []scorecard.Rule{
			{Name: "each tenant", Match: "tenant:*", Cap: scorecard.Cap{N: 4}},
		}},
		Regulators: map[string]admission.RegulatorConfig{
			"lag": {Setpoint: 0.8, Period: 200 * time.Millisecond, KP: 1, KI: 0.2, Lanes: []string{"write"}},
		},
	}, admission.WithSignal("lag", regulators.Func(s.lag)))
}

// drive sends writes of all importances and waits for the last when ctx ends.
func drive(ctx context.Context, ctrl *admission.Controller, s *store, rate int) {
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	var all sync.WaitGroup
	defer all.Wait()
	for i := 0; ctx.Err() == nil; i++ {
		<-tick.C
		r := admission.Request{
			Lane: "write", Priority: admission.Tier(1 + rand.IntN(5)).Priority(), Caller: "checkout", Op: "PUT /orders/{id}",
			Tenant: fmt.Sprintf("tenant-%d", int(rand.ExpFloat64()*5)), Key: fmt.Sprintf("order-%d", i),
		}
		all.Go(func() {
			_ = ctrl.Do(ctx, r, func(context.Context) error {
				s.backlog.Add(1)
				time.Sleep(time.Duration(20+rand.IntN(20)) * time.Millisecond)
				return nil
			})
		})
	}
}
