package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
	"github.com/spillway-go/spillway/examples/shedcurve/report"
	"github.com/spillway-go/spillway/examples/shedcurve/service"
	"github.com/spillway-go/spillway/examples/shedcurve/speed"
	"github.com/spillway-go/spillway/examples/shedcurve/workload"
)

// maxLag is the p99 of the generator's lag above which a point is not to be trusted.
const maxLag = 10 * time.Millisecond

// grpcFlag has serve speak gRPC.
const grpcFlag = "-grpc"

// arm is one way of running the service.
type arm struct {
	name   string
	client *load.Client
	child  *service.Child // nil when somebody else runs the service
	db     string         // its database
	stop   func()         // ends it
}

// targetArm is somebody else's service.
func targetArm(target string) (arm, error) {
	client, err := load.NewClient(target)
	if err != nil {
		return arm{stop: func() {}}, err
	}
	return arm{name: report.ArmTarget, client: client, stop: client.Close}, nil
}

// sizesFor is the sizes with so many customers, with 0 those that fit this machine and what is spoken.
func sizesFor(ctx context.Context, customers int, grpc bool) (orders.Sizes, error) {
	if customers > 0 {
		return orders.SizesOf(customers), nil
	}
	return workload.Fit(ctx, grpc)
}

// customersFlag defines the flag for what sizesFor takes.
func customersFlag(fs *flag.FlagSet, customers *int) {
	fs.IntVar(customers, "customers", 0, "`number` of customers of the order service, who share its orders: the fewer, the dearer a request; 0: as many as give it a capacity of some 200 to 350 requests/s on this machine, over gRPC 120 to 200")
}

// checkCustomers reports a number of customers that cannot be.
func checkCustomers(n int) error {
	if n != 0 && (n < orders.LeastCustomers || n > orders.MostCustomers) {
		return fmt.Errorf("-customers is %d, must be 0 or %d to %d", n, orders.LeastCustomers, orders.MostCustomers)
	}
	return nil
}

// startArm starts the order service as a child with a database of its own, behind Spillway if name is "on", and with
// further flags of serve.
func startArm(ctx context.Context, name string, sizes orders.Sizes, flags ...string) (a arm, err error) {
	dir, err := os.MkdirTemp("", "shedcurve-")
	if err != nil {
		return a, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	db := filepath.Join(dir, "orders.db")
	if err := orders.Create(ctx, db, sizes); err != nil {
		return a, err
	}
	child, err := startChild(ctx, db, name, flags...)
	if err != nil {
		return a, err
	}
	client, err := load.NewClient(targetURL(child.At.Addr, slices.Contains(flags, grpcFlag)))
	if err != nil {
		_ = child.Stop()
		return a, err
	}
	return arm{name, client, child, db, func() {
		client.Close()
		_ = child.Stop()
		os.RemoveAll(dir)
	}}, nil
}

// startChild starts this program again as the service on the database file db, with or without Spillway, and with further
// flags of serve.
func startChild(ctx context.Context, db, spillway string, flags ...string) (*service.Child, error) {
	args := append([]string{"serve", "-child", "-addr", "127.0.0.1:0", "-db", db, "-spillway", spillway}, flags...)
	return service.Start(ctx, "the service (spillway "+spillway+")", args...)
}

// targetURL is where a server at addr is found.
func targetURL(addr string, grpc bool) string {
	if grpc {
		return "grpc://" + addr
	}
	return "http://" + addr
}

// dead says how the arm's child ended, nil while it lives or where there is none.
func (a arm) dead() error {
	if a.child == nil {
		return nil
	}
	return a.child.Dead()
}

// offer offers one load, x times the capacity, to the arm when it has come to rest, and counts the slices that s keeps.
func (a arm) offer(ctx context.Context, x float64, cfg load.Config, s *speed.Speedometer) (p report.Point, err error) {
	var before service.Usage
	if a.child != nil {
		if before, err = a.child.Reset(ctx); err != nil {
			return p, err
		}
	}
	start := time.Now()
	all, err := load.Run(ctx, a.client, cfg)
	if err != nil {
		return p, err
	}
	elapsed := time.Since(start)
	var read speed.Readings
	if a.child != nil {
		if read, err = a.child.Speed(ctx); err != nil {
			return p, err
		}
	}
	kept := s.Keep(all, read)
	p = pointOf(x, kept.Result)
	p.LeftOut, p.Speeds, p.Valid = kept.LeftOut, kept.Speeds, p.Valid && kept.Steady
	if len(kept.Speeds) > 0 {
		v := kept.Speed()
		p.Speed = &v
	}
	if a.child != nil {
		after, err := a.child.Usage(ctx)
		if err != nil {
			return p, err
		}
		p.GoroutinesPeak, p.HeapPeakBytes = &after.GoroutinesPeak, &after.HeapPeakBytes
		if before.CPUSeconds != nil && after.CPUSeconds != nil {
			// Of the whole load, warm-up included; the report wants it for the time that counts.
			s := (*after.CPUSeconds - *before.CPUSeconds) * kept.Duration.Seconds() / elapsed.Seconds()
			p.CPUSeconds = &s
		}
	}
	a.client.Close() // an overload's many connections are not the next load's
	return p, nil
}

// pointOf is what the report says of a load's result.
func pointOf(x float64, r load.Result) report.Point {
	lag := r.Lag.Quantile(0.99)
	p := report.Point{
		X: x, OfferedRPS: float64(r.Offered) / r.Duration.Seconds(), GoodputRPS: float64(r.Good) / r.Duration.Seconds(),
		Offered: r.Offered, Good: r.Good, Admitted: r.Offered - r.Shed, Shed: r.Shed, Failed: r.Failed,
		Tiers: tallies(r.Tiers), Tenants: tallies(r.Tenants), Reasons: r.Reasons, RetryAfter: report.RetryAfter{Distinct: len(r.RetryAfter)},
		DurationS: r.Duration.Seconds(), LagP99MS: ms(lag), Valid: lag <= maxLag,
	}
	if r.Admitted.Count() > 0 {
		p50, p99 := ms(r.Admitted.Quantile(0.5)), ms(r.Admitted.Quantile(0.99))
		p.AdmittedP50MS, p.AdmittedP99MS = &p50, &p99
	}
	if len(r.RetryAfter) > 0 {
		seconds := slices.Sorted(maps.Keys(r.RetryAfter))
		least, most := float64(seconds[0]), float64(seconds[len(seconds)-1])
		p.RetryAfter.Min, p.RetryAfter.Max = &least, &most
	}
	return p
}

func tallies(m map[string]load.Tally) map[string]report.Tally {
	out := make(map[string]report.Tally, len(m))
	for k, t := range m {
		out[k] = report.Tally(t)
	}
	return out
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
