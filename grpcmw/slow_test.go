package grpcmw_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

// strict is what the package's doc advises a server that strangers reach to set.
var strict = []grpc.ServerOption{
	grpc.ConnectionTimeout(10 * time.Second),
	grpc.MaxConcurrentStreams(100),
	grpc.MaxHeaderListSize(64 << 10),
	grpc.KeepaliveParams(keepalive.ServerParameters{
		MaxConnectionIdle: 5 * time.Minute, MaxConnectionAge: 30 * time.Minute, MaxConnectionAgeGrace: time.Minute,
		Time: time.Minute, Timeout: 20 * time.Second,
	}),
	grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 30 * time.Second}),
}

// Frames of HTTP/2, as much of them as slow clients need.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

const headersFrame, settingsFrame, continuationFrame = 1, 4, 9

func frame(kind, flags byte, stream uint32, payload string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	return string(binary.BigEndian.AppendUint32(append(head, flags), stream)) + payload
}

// openHeaders begin a request whose headers go on: END_HEADERS is missing.
var openHeaders = preface + frame(settingsFrame, 0, 0, "") + frame(headersFrame, 0, 1, "\x83\x86")

// Who is slow before his call has come to the handler holds nothing of the controller's,
// and a strict server closes his connection.
func TestSlowConnectionsHoldNothing(t *testing.T) {
	for name, c := range map[string]struct {
		say   string
		again string        // every ten seconds
		most  time.Duration // that the connection lasts
	}{
		"says nothing":            {"", "", 10 * time.Second},
		"half a preface":          {preface[:10], "", 10 * time.Second},
		"a preface and no more":   {preface, "", 10 * time.Second},
		"is not there any more":   {preface + frame(settingsFrame, 0, 0, ""), "", 80 * time.Second},
		"headers that never end":  {openHeaders, "", 80 * time.Second},
		"headers that trickle":    {openHeaders, frame(continuationFrame, 0, 1, ""), 80 * time.Second},
		"a frame that breaks off": {openHeaders + frame(continuationFrame, 0, 1, "\x00")[:5], "", 80 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctrl := control(t, only(admission.LaneConfig{}))
				_, lis := serve(t, &service{}, append(strict, grpcmw.ServerOptions(ctrl, grpcmw.Config{})...)...)
				began := time.Now()
				conn := rawConn(t, lis)
				say := func(s string) bool { _, err := conn.Write([]byte(s)); return err == nil }
				say(c.say)
				closed := make(chan struct{})
				var trickle sync.WaitGroup
				trickle.Go(func() {
					for c.again != "" && say(c.again) {
						select {
						case <-closed:
							return
						case <-time.After(10 * time.Second):
						}
					}
				})
				_, _ = io.Copy(io.Discard, conn) // until the server closes it
				close(closed)
				trickle.Wait()
				if took := time.Since(began); took < 10*time.Second || took > c.most {
					t.Errorf("the connection lasted %v, want between 10s and %v", took, c.most)
				}
				if n := counts(ctrl).Arrived; n != 0 {
					t.Errorf("%d calls arrived, want none", n)
				}
			})
		})
	}
}

func rawConn(t *testing.T, lis *bufconn.Listener) net.Conn {
	t.Helper()
	conn, err := lis.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// A call whose message never comes holds nothing either, however long: of a strict server
// that is as long as a connection may be old. Nor does it keep others out.
func TestCallsWithoutAMessageHoldNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctrl := control(t, only(pinned(1, 0)))
		_, lis := serve(t, &service{}, append(strict, grpcmw.ServerOptions(ctrl, grpcmw.Config{})...)...)
		conn := dial(t, lis)
		began := time.Now()
		var open []grpc.ClientStream
		for range 100 {
			ss, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, unaryMethod)
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, ss)
		}
		time.Sleep(time.Minute)
		if l := lane(ctrl, "default"); l.Inflight != 0 || counts(ctrl).Arrived != 0 {
			t.Errorf("of those that have not come %d have arrived and hold %d slots", counts(ctrl).Arrived, l.Inflight)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, unaryMethod); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("one more on a connection that has a hundred: %v", err)
		}
		if _, err := testgrpc.NewTestServiceClient(dial(t, lis)).UnaryCall(t.Context(), &testgrpc.SimpleRequest{}); err != nil {
			t.Errorf("another client: %v", err)
		}
		for _, ss := range open {
			if err := ss.RecvMsg(&testgrpc.SimpleResponse{}); status.Code(err) != codes.Unavailable {
				t.Errorf("ended by %v, want its connection's end", err)
			}
		}
		if took, most := time.Since(began), 34*time.Minute; took > most { // its age within a tenth, and the grace
			t.Errorf("they lasted %v, want at most %v", took, most)
		}
		if n := counts(ctrl).Arrived; n != 1 {
			t.Errorf("%d calls arrived, want the other client's", n)
		}
	})
}

// Of a streaming call that holds a slot the caller decides how long: until its message has
// come, and after that.
func TestHeldStreamsAreTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctrl := control(t, only(pinned(1, 0)))
		cfg := grpcmw.Config{Hold: func(m string) bool { return m == downMethod }}
		_, lis := serve(t, &service{}, append(strict, grpcmw.ServerOptions(ctrl, cfg)...)...)
		conn := dial(t, lis)
		ss, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, downMethod)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := lane(ctrl, "default").Inflight; n != 1 {
			t.Errorf("%d slots are held by a stream without a message, want 1", n)
		}
		if err := ss.RecvMsg(&testgrpc.SimpleResponse{}); status.Code(err) != codes.Unavailable {
			t.Errorf("ended by %v, want its connection's end", err)
		}
		synctest.Wait()
		if n := lane(ctrl, "default").Inflight; n != 0 {
			t.Errorf("%d slots are held after the connection's end", n)
		}
	})
}
