package load

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// pipes is a listener whose connections are in memory, so that a whole service and its load run in a bubble of
// virtual time: an hour of load takes a moment, and every latency is exact.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	close func()
}

func newPipes() pipes {
	done := make(chan struct{})
	return pipes{make(chan net.Conn), done, sync.OnceFunc(func() { close(done) })}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { p.close(); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// bubble runs test in virtual time against a service with this handler.
func bubble(t *testing.T, h http.HandlerFunc, test func(t *testing.T, c *Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		srv := &http.Server{Handler: h}
		go srv.Serve(p)
		c, err := NewClient("http://service.test")
		if err != nil {
			t.Fatal(err)
		}
		httpOf(c).DialContext = p.dial
		test(t, c)
		c.Close()
		srv.Shutdown(t.Context()) // waits for handlers that work for nobody any more
	})
}

// workers is a handler of n workers that take so long for each request; others wait for one of them, first
// come, first served.
func workers(n int, service time.Duration) http.HandlerFunc {
	slots := slotsOf(n)
	return func(_ http.ResponseWriter, r *http.Request) {
		free := slots()
		select {
		case free <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		defer func() { <-free }()
		time.Sleep(service)
	}
}

// slotsOf makes the channel when the first request asks: it belongs to the bubble that it is made in.
func slotsOf(n int) func() chan struct{} {
	return sync.OnceValue(func() chan struct{} { return make(chan struct{}, n) })
}

func oneClass(t *testing.T) *Mix { return mixOf(t, "GET /") }

func mixOf(t *testing.T, lines ...string) *Mix {
	t.Helper()
	var classes []Class
	for _, l := range lines {
		c, err := ParseRequest(l)
		if err != nil {
			t.Fatal(err)
		}
		classes = append(classes, c)
	}
	m, err := NewMix(classes...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mustRun(t *testing.T, c *Client, cfg Config) Result {
	t.Helper()
	slices, err := Run(t.Context(), c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	res := slices.Merge(nil)
	if res.Offered != res.Good+res.Shed+res.Failed {
		t.Errorf("offered %d is not good %d + shed %d + failed %d", res.Offered, res.Good, res.Shed, res.Failed)
	}
	return res
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if got < want*(1-within) || got > want*(1+within) {
		t.Errorf("%s: %.4g, want %.4g within %g %%", what, got, want, within*100)
	}
}

func anyRand() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

// httpOf is what a client of an HTTP service sends by.
func httpOf(c *Client) *http.Transport { return c.target.(*httpTarget).transport }

// importing is a file with a service whose method takes a Struct and returns Empty.
func importing(files ...string) *descriptorpb.FileDescriptorProto {
	return &descriptorpb.FileDescriptorProto{
		Name: proto.String("load/test.proto"), Package: proto.String("load.test"), Syntax: proto.String("proto3"), Dependency: files,
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("Service"), Method: []*descriptorpb.MethodDescriptorProto{{
			Name: proto.String("Method"), InputType: proto.String(".google.protobuf.Struct"), OutputType: proto.String(".google.protobuf.Empty"),
		}}}},
	}
}
