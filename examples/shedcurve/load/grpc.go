package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// callsPerConn is how many calls share a connection before another one is opened: many servers allow no more than that at
// once on one, and what waits for its turn there waits in the generator.
const callsPerConn = 100

// grpcTarget is a service that speaks gRPC and describes itself by server reflection.
type grpcTarget struct {
	addr string

	mu struct {
		sync.Mutex
		conns   []*grpc.ClientConn
		next    int
		calls   int   // under way
		dialErr error // of the last attempt to connect
		methods map[string]*method
	}
}

func newGRPCTarget(addr string) *grpcTarget { return &grpcTarget{addr: addr} }

func (g *grpcTarget) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.mu.conns {
		_ = c.Close()
	}
	g.mu.conns = nil
}

// conn is the connection whose turn it is, of as many as the calls under way need. It must be given back.
func (g *grpcTarget) conn() (*grpc.ClientConn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.calls++
	need := 1 + g.mu.calls/callsPerConn
	for len(g.mu.conns) < need {
		c, err := grpc.NewClient("passthrough:///"+g.addr,
			grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(g.dial),
			grpc.WithDisableRetry(), grpc.WithDisableServiceConfig())
		if err != nil {
			return nil, err
		}
		g.mu.conns = append(g.mu.conns, c)
	}
	g.mu.next++
	return g.mu.conns[g.mu.next%need], nil
}

func (g *grpcTarget) giveBack() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.calls--
}

// dial notes its error, of which gRPC passes on only the text.
func (g *grpcTarget) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", addr)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.dialErr = err
	return conn, err
}

func (g *grpcTarget) send(ctx context.Context, r Request) answer {
	defer g.giveBack()
	conn, err := g.conn()
	if err != nil {
		return answer{err: err, retryAfter: -1}
	}
	m, err := g.method(ctx, conn, r)
	if err != nil {
		return answer{err: err, retryAfter: -1}
	}
	req, err := m.encode(r.Body)
	if err != nil {
		return answer{err: err, retryAfter: -1}
	}
	for k, v := range r.Header {
		ctx = metadata.AppendToOutgoingContext(ctx, k, v)
	}
	if r.Tenant != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, TenantHeader, r.Tenant)
	}
	var header, trailer metadata.MD
	err = conn.Invoke(ctx, r.Method, req, nil, grpc.Header(&header), grpc.Trailer(&trailer), grpc.ForceCodecV2(raw{}))
	switch {
	case err == nil:
		return answer{status: http.StatusOK, retryAfter: -1}
	case len(header) > 0 || len(trailer) > 0: // by the server, and not by the client in its place
		return answerOf(status.Convert(err), trailer)
	case ctx.Err() != nil:
		return answer{err: context.Cause(ctx), retryAfter: -1}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return answer{err: errors.Join(err, g.mu.dialErr), retryAfter: -1}
}

// method is what the target says of r's method, asked for once.
func (g *grpcTarget) method(ctx context.Context, conn *grpc.ClientConn, r Request) (*method, error) {
	if !r.isCall() {
		return nil, fmt.Errorf("load: %s %s is an HTTP request, the target speaks gRPC", r.Method, r.Path)
	}
	g.mu.Lock()
	m := g.mu.methods[r.Method]
	g.mu.Unlock()
	if m != nil {
		return m, nil
	}
	m, err := reflectMethod(ctx, conn, r.Method)
	if err != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		return nil, fmt.Errorf("load: %s by server reflection: %w", r.Method, errors.Join(err, g.mu.dialErr))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.methods == nil {
		g.mu.methods = map[string]*method{}
	}
	g.mu.methods[r.Method] = m
	return m, nil
}

// answerOf is a status that a server has sent. A deadline that it says cannot be met is a refusal, any other that has
// passed is not: the ErrorInfo tells.
func answerOf(s *status.Status, trailer metadata.MD) answer {
	a := answer{status: httpStatus(s.Code()), says: s.Code().String() + ": " + s.Message(), retryAfter: -1}
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			a.reason = strings.ReplaceAll(strings.ToLower(info.GetReason()), "_", "-")
		}
	}
	if s.Code() == codes.DeadlineExceeded && a.reason == "deadline" {
		a.status = http.StatusServiceUnavailable
	}
	if !a.shed() {
		a.reason = ""
		return a
	}
	if a.reason == "" {
		a.reason = s.Code().String()
	}
	if v := trailer.Get("grpc-retry-pushback-ms"); len(v) == 1 {
		if ms, err := strconv.Atoi(v[0]); err == nil && ms >= 0 {
			a.retryAfter = int((time.Duration(ms)*time.Millisecond + time.Second - 1) / time.Second)
		}
	}
	return a
}

// httpStatus is the counterpart of a code, after the comments in google/rpc/code.proto.
func httpStatus(c codes.Code) int {
	switch c {
	case codes.OK:
		return http.StatusOK
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return http.StatusBadRequest
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.NotFound:
		return http.StatusNotFound
	case codes.AlreadyExists, codes.Aborted:
		return http.StatusConflict
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Canceled:
		return 499
	case codes.Unimplemented:
		return http.StatusNotImplemented
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}
