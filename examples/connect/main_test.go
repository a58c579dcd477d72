package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/admission"
)

// What the program prints is what its users see of each protocol.
func Example() {
	main()
	// Output:
	// connect: call: hello
	// connect: stream: 5 letters
	// grpc: call: hello
	// grpc: stream: 5 letters
	// connect: call: unavailable: shed: closed
	// connect: stream: unavailable: shed: closed
	// grpc: call: unavailable: shed: closed
	// grpc: stream: unavailable: shed: closed
}

// A stream is no sample, and holds a slot of its own lane.
func TestStreams(t *testing.T) {
	ctrl, err := admission.New(admission.Config{Lanes: map[string]admission.LaneConfig{"default": {}, "streams": {}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ctrl.Close()
	lane := func(name string) admission.LaneStats {
		l, _ := ctrl.Stats().Lane(name)
		return l
	}
	srv := httptest.NewServer(protected(ctrl, echo()))
	defer srv.Close()
	n, err := letters(connect.NewClient[wrapperspb.StringValue, wrapperspb.StringValue](http.DefaultClient, srv.URL+count).
		CallServerStream(t.Context(), connect.NewRequest(wrapperspb.String("hello"))))
	if err != nil || n != 5 {
		t.Fatalf("%d letters, %v", n, err)
	}
	for start := time.Now(); lane("streams").Inflight != 0; time.Sleep(time.Millisecond) {
		if time.Since(start) > 30*time.Second {
			t.Fatal("the stream's slot is not given back")
		}
	}
	if calls, streams := lane(""), lane("streams"); calls.Tiers[admission.T3].Arrived != 0 || streams.Tiers[admission.T3].Admitted != 1 || streams.Service.Total() != 0 {
		t.Errorf("calls %+v\nstreams %+v", calls.Tiers[admission.T3], streams.Tiers[admission.T3])
	}
}
