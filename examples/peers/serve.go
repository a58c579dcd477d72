package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/spillway-go/spillway/examples/internal/process"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
	"github.com/spillway-go/spillway/examples/shedcurve/service"
)

// The real service is this program again, told by its arguments that it is the service, behind which peer.

const serveCommand = "serve"

// serving is what such a process is told, as JSON.
type serving struct {
	Peer     string
	DB       string  // a file that orders.Create made
	Limit    int     // for those whose limit is set by hand
	Capacity float64 // for those whose rate is
}

func (s serving) args() []string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // of strings and numbers alone: cannot be
	}
	return []string{serveCommand, string(text)}
}

// isService tells whether this process is one.
func isService() bool { return len(os.Args) == 3 && os.Args[1] == serveCommand }

// beService serves until the standard input ends. It does not return.
func beService() {
	var s serving
	err := json.Unmarshal([]byte(os.Args[2]), &s)
	if err == nil {
		err = serve(context.Background(), s, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(ctx context.Context, s serving, stdin io.Reader, stdout io.Writer) error {
	runtime.GOMAXPROCS(1) // the load generator needs the other core
	ctx, cancel := process.Until(ctx, stdin)
	defer cancel()
	p, ok := find(s.Peer)
	if !ok {
		return errUnknown(s.Peer)
	}
	store, err := orders.Open(ctx, s.DB)
	if err != nil {
		return err
	}
	defer store.Close()
	svc, err := service.New(ctx, store)
	if err != nil {
		return err
	}
	defer svc.Close()
	l, err := p.start(env{limit: s.Limit, capacity: s.Capacity})
	if err != nil {
		return err
	}
	defer l.close()
	defer keepCPU(ownCPU())()
	loopback := service.Addresses{Addr: "127.0.0.1:0", Admin: "127.0.0.1:0"}
	return service.Listen(ctx, loopback, svc.HTTP(guard(l)), svc.Admin(), service.Hello(stdout))
}

// ownCPU returns a function that tells how much of its one core this process has used lately, 0 to 1, for those
// who shed by CPU usage: what they would read themselves is the machine's, with the load generator on it.
func ownCPU() func() float64 {
	at, used, usage := time.Now(), seconds(service.CPUSeconds()), 0.0
	return func() float64 {
		if dt := time.Since(at); dt >= cpuPeriod {
			now := seconds(service.CPUSeconds())
			usage = min(1, (now-used)/dt.Seconds())
			at, used = at.Add(dt), now
		}
		return usage
	}
}

// seconds are 0 where the system does not tell.
func seconds(s *float64) float64 {
	if s == nil {
		return 0
	}
	return *s
}
