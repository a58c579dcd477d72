// Command grpc serves a gRPC service behind Spillway and then asks more of it than
// it can do: callers that matter get their answers, and clients whose retry policy
// would try everything again are kept from that. It runs for some seconds and
// prints what became of the calls.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
	"github.com/spillway-go/spillway/scorecard"
)

func main() {
	if err := run(3 * time.Second); err != nil {
		log.Fatal(err)
	}
}

// plain is all it takes.
func plain() (*grpc.Server, error) {
	ctrl, err := admission.New(admission.Config{})
	if err != nil {
		return nil, err
	}
	return grpc.NewServer(grpcmw.ServerOptions(ctrl, grpcmw.Config{})...), nil
}

// Metadata in which our own services say how much a call matters, and to whom.
const (
	priorityKey = "x-priority"
	tenantKey   = "x-tenant"
)

// classified believes what its own services say, caps each tenant, and gives
// streams a lane of their own.
func classified() (*grpc.Server, *admission.Controller, error) {
	ctrl, err := admission.New(admission.Config{
		Lanes: map[string]admission.LaneConfig{
			"default": {},
			"streams": {Limit: admission.LimitConfig{Fixed: 1000}},
		},
		Scorecard: admission.ScorecardConfig{Rules: []scorecard.Rule{
			{Name: "each tenant", Match: "tenant:*", Cap: scorecard.Cap{Share: 0.5}},
		}},
	})
	if err != nil {
		return nil, nil, err
	}
	cfg := grpcmw.Config{
		StreamLane: "streams",
		Metadata: grpcmw.Metadata{
			// Here every client is ours. Go by grpcmw.PeerIdentity where they are not.
			Trusted:  func(context.Context) bool { return true },
			Priority: priorityKey,
			Tenant:   tenantKey,
		},
		Forward: true, // priority and tenant go on to whom a handler calls
	}
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	return grpc.NewServer(grpcmw.ServerOptions(ctrl, cfg)...), ctrl, nil
}

// retrying is the retry policy that many services give their clients.
const retrying = `{"methodConfig": [{"name": [{}], "retryPolicy": {
	"maxAttempts": 5, "initialBackoff": "0.05s", "maxBackoff": "1s", "backoffMultiplier": 2,
	"retryableStatusCodes": ["UNAVAILABLE"]}}]}`

func run(length time.Duration) error {
	srv, ctrl, err := classified()
	if err != nil {
		return err
	}
	defer ctrl.Close()
	registerEcho(srv, func() { time.Sleep(takes) })
	healthgrpc.RegisterHealthServer(srv, health.NewServer()) // passes whatever the load
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	conn, err := grpc.NewClient(lis.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(retrying))
	if err != nil {
		return err
	}
	fmt.Printf("an echo that can do %d calls a second, offered %d\n", capacity, 2*offered)
	var calls sync.WaitGroup
	tallies := map[string]*tally{"t1": {}, "t5": {}}
	for priority, sum := range tallies {
		calls.Go(func() { offer(conn, priority, sum, length) })
	}
	calls.Wait()
	asked := int64(0)
	for _, priority := range []string{"t1", "t5"} {
		sum := tallies[priority]
		fmt.Printf("%s: %d calls, %d answered\n", priority, sum.calls.Load(), sum.answered.Load())
		asked += sum.calls.Load()
	}
	arrived := uint64(0)
	l, _ := ctrl.Stats().Lane("")
	for _, tier := range l.Tiers {
		arrived += tier.Arrived
	}
	fmt.Printf("%.2f tries for each call\n", float64(arrived)/float64(asked))
	err = conn.Close()
	srv.GracefulStop()
	return errors.Join(err, <-served)
}

const offered = 300 // calls a second of each priority

type tally struct{ calls, answered atomic.Int64 }

// offer calls at a steady rate, whether or not answers come.
func offer(conn *grpc.ClientConn, priority string, sum *tally, length time.Duration) {
	const tenants = 10
	var calls sync.WaitGroup
	defer calls.Wait()
	tick := time.NewTicker(time.Second / offered)
	defer tick.Stop()
	for end := time.Now().Add(length); time.Now().Before(end); <-tick.C {
		tenant := priority + "-" + strconv.FormatInt(sum.calls.Add(1)%tenants, 10)
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			ctx = metadata.AppendToOutgoingContext(ctx, priorityKey, priority, tenantKey, tenant)
			if _, err := echo(ctx, conn, "hello"); err == nil {
				sum.answered.Add(1)
			}
		})
	}
}
