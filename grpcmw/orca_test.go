package grpcmw_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/orca"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

const loadTrailer = "endpoint-load-metrics-bin"

// newLoad is an xds.data.orca.v3.OrcaLoadReport, whose package is linked in but no requirement of ours.
func newLoad(t *testing.T) protoreflect.Message {
	t.Helper()
	found, err := protoregistry.GlobalTypes.FindMessageByName("xds.data.orca.v3.OrcaLoadReport")
	if err != nil {
		t.Fatal(err)
	}
	return found.New()
}

// value is a field of a load report.
func value(m protoreflect.Message, field protoreflect.Name) float64 {
	return m.Get(m.Descriptor().Fields().ByName(field)).Float()
}

func loadOf(m protoreflect.Message) admission.LoadReport {
	return admission.LoadReport{
		Utilization: value(m, "application_utilization"), QPS: value(m, "rps_fractional"), EPS: value(m, "eps"),
	}
}

// loadIn is the one report in a trailer.
func loadIn(t *testing.T, trailer metadata.MD) protoreflect.Message {
	t.Helper()
	v := trailer.Get(loadTrailer)
	if len(v) != 1 {
		t.Fatalf("%d load reports in the trailer, want one", len(v))
	}
	m := newLoad(t)
	if err := proto.Unmarshal([]byte(v[0]), m.Interface()); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestLoadReportWithEachCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctrl := control(t, only(pinned(2, 10)))
		impl := &service{unary: func(ctx context.Context, _ *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
			time.Sleep(100 * time.Millisecond)
			orca.CallMetricsRecorderFromContext(ctx).SetNamedMetric("of the handler", 3)
			return &testgrpc.SimpleResponse{}, nil
		}}
		_, lis := serve(t, impl, grpcmw.ServerOptions(ctrl, grpcmw.Config{LoadReports: true})...)
		client := testgrpc.NewTestServiceClient(dial(t, lis))
		call := func() (m protoreflect.Message, header metadata.MD, err error) {
			var trailer metadata.MD
			_, err = client.UnaryCall(t.Context(), &testgrpc.SimpleRequest{}, grpc.Header(&header), grpc.Trailer(&trailer))
			return loadIn(t, trailer), header, err
		}
		for range 50 { // one of two slots, all the time
			if _, _, err := call(); err != nil {
				t.Fatal(err)
			}
		}
		m, _, _ := call()
		if r := loadOf(m); r.Utilization < 0.49 || r.Utilization > 0.51 || r.QPS < 8 || r.QPS > 12 || r.EPS != 0 {
			t.Errorf("half full: %+v", r)
		}
		named := m.Get(m.Descriptor().Fields().ByName("named_metrics")).Map()
		if v := named.Get(protoreflect.ValueOfString("of the handler").MapKey()); !v.IsValid() || v.Float() != 3 {
			t.Errorf("what the handler recorded is not in it: %v", m)
		}

		stream, err := client.StreamingOutputCall(t.Context(), &testgrpc.StreamingOutputCallRequest{})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = stream.Recv()
		if r := loadOf(loadIn(t, stream.Trailer())); !(r.Utilization > 0) {
			t.Errorf("with a stream: %+v", r)
		}

		if err := ctrl.Close(); err != nil {
			t.Fatal(err)
		}
		for range 30 {
			time.Sleep(100 * time.Millisecond)
			m, header, err := call()
			if status.Code(err) != codes.Unavailable || len(header) > 0 {
				t.Fatalf("a shed call: %v, header %v; the report must leave it Trailers-Only", err, header)
			}
			if r := loadOf(m); r.Utilization <= 0 {
				t.Errorf("a shed call: %+v", r)
			}
		}
		if m, _, _ := call(); loadOf(m).Utilization <= 1 || loadOf(m).EPS < 8 {
			t.Errorf("all are shed: %+v", loadOf(m))
		}
	})
}

// Nothing is told unasked, and nothing with calls that are none of the load.
func TestNoLoadReport(t *testing.T) {
	ctrl := control(t, admission.Config{})
	for name, cfg := range map[string]grpcmw.Config{"default": {}, "exempt": {LoadReports: true, Exempt: func(string) bool { return true }}} {
		_, lis := serve(t, &service{}, grpcmw.ServerOptions(ctrl, cfg)...)
		var trailer metadata.MD
		if _, err := testgrpc.NewTestServiceClient(dial(t, lis)).UnaryCall(t.Context(), &testgrpc.SimpleRequest{}, grpc.Trailer(&trailer)); err != nil {
			t.Fatal(err)
		}
		if v := trailer.Get(loadTrailer); v != nil {
			t.Errorf("%s: %q", name, v)
		}
	}
}

// An option of orca's own before ours takes nothing away and adds no second report, of
// which clients would believe neither; one behind ours is what the doc warns of. What
// is in a trailer cannot be taken back, and who would catch the second before it is
// there puts a stream of his own in the call's context: a handler's
// grpc.SetSendCompressor then fails.
func TestOneLoadReportBesideAnotherOption(t *testing.T) {
	ctrl := control(t, admission.Config{})
	impl := &service{unary: func(ctx context.Context, _ *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
		orca.CallMetricsRecorderFromContext(ctx).SetNamedMetric("of the handler", 3)
		return &testgrpc.SimpleResponse{}, nil
	}}
	theirs, ours := orca.CallMetricsServerOption(nil), grpcmw.ServerOptions(ctrl, grpcmw.Config{LoadReports: true})
	for reports, opts := range map[int][]grpc.ServerOption{1: append([]grpc.ServerOption{theirs}, ours...), 2: append(ours, theirs)} {
		_, lis := serve(t, impl, opts...)
		var trailer metadata.MD
		if _, err := testgrpc.NewTestServiceClient(dial(t, lis)).UnaryCall(t.Context(), &testgrpc.SimpleRequest{}, grpc.Trailer(&trailer)); err != nil {
			t.Fatal(err)
		}
		if n := len(trailer.Get(loadTrailer)); n != reports {
			t.Errorf("%d reports, want %d", n, reports)
		}
	}
}

// Reports come out of band too, and their stream takes no slot.
func TestLoadReportOutOfBand(t *testing.T) {
	ctrl := control(t, only(pinned(1, 0)))
	srv := grpc.NewServer(grpcmw.ServerOptions(ctrl, grpcmw.Config{})...)
	if err := grpcmw.RegisterLoadReports(srv, ctrl); err != nil {
		t.Fatal(err)
	}
	lis := bufconn.Listen(1 << 16)
	go srv.Serve(lis)
	defer srv.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := dial(t, lis).NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stream.SendMsg(&emptypb.Empty{}), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	m := newLoad(t)
	if err := stream.RecvMsg(m.Interface()); err != nil {
		t.Fatal(err)
	}
	if r := loadOf(m); r.Utilization <= 0 || r.QPS != 0 {
		t.Errorf("%+v of an idle replica", r)
	}
	hold(t, ctrl).Release(admission.Ignore) // the only slot is free
}
