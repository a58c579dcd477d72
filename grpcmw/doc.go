// Package grpcmw is gRPC interceptors around an [admission.Controller]: each
// call is admitted, made to wait a little, or shed with a status that says what
// to do about it, and how it came out is reported back.
//
//	ctrl, err := admission.New(admission.Config{})
//	...
//	defer ctrl.Close()
//	srv := grpc.NewServer(grpcmw.ServerOptions(ctrl, grpcmw.Config{})...)
//
// The zero [Config] believes no metadata, lets health checks and the like pass
// ([IsInfrastructure]) and needs no tuning.
//
// # What a shed call is told
//
//	reason                               code                pushback
//	tenant-cap, keyed: this caller       RESOURCE_EXHAUSTED  as computed by the controller
//	deadline: it would come too late     DEADLINE_EXCEEDED   none
//	all others: this replica is full     UNAVAILABLE         as computed, but see below
//	(the caller left while it waited)    CANCELLED           none
//
// Each status has an ErrorInfo with the reason and [Domain], a RetryInfo where a
// later try makes sense, and a QuotaFailure where the caller is over his cap;
// none names a tenant, a limit or a key. [Config.Reject] replaces all of it.
//
// Retry policies retry UNAVAILABLE, up to five attempts in all, unless the trailer
// grpc-retry-pushback-ms says otherwise. It always has exactly one value, and is
// -1, do not retry, for the lowest tiers, for calls that are retries already, and
// under heavy shedding: of a budget of one retry for ten calls admitted, after
// the rule for clients in gRFC A6, nothing is left then. So however much is shed,
// retries add no more than a tenth to the load. Clients heed the trailer only
// where no header was sent before, so a refusal is Trailers-Only, and this
// interceptor should not stand behind one that sends headers.
//
// A call whose description the controller finds invalid (an unknown lane, a
// negative cost) is the program's mistake: it ends as INTERNAL and the first one
// is logged.
//
// # What is reported
//
// UNAVAILABLE, RESOURCE_EXHAUSTED and DEADLINE_EXCEEDED from the handler, or a
// deadline of the call's context that has passed, are Overload. UNKNOWN,
// INTERNAL, DATA_LOSS and UNIMPLEMENTED are Failure, as is a panic, which goes on
// untouched, and [runtime.Goexit]. CANCELLED, or a client that went away, is
// Ignore. All else, OK and the codes that blame the request, is Success.
// [Config.Outcome] replaces the rule.
//
// A slot is held until the handler returns, whether or not its client still
// waits: a handler that heeds its context returns soon after.
//
// # Streams
//
// A streaming call is admitted when it opens, like any other, and is never a
// sample. How long it lives is up to its caller, so by default it gives its slot
// back as soon as it is open and counts for nothing afterwards: a few watchers
// would else fill the lane. With [Config.StreamLane] streams hold a slot of a lane
// of their own until their handler returns, and its limit bounds how many there
// are; streaming methods that end by themselves, such as a long list, hold one of
// their own lane where [Config.Hold] says so. In long-lived streams each message
// that comes in can be admitted by itself, see [Config.Messages].
//
// # Slow clients
//
// A unary call is asked about once its message is there: a client that sends headers
// and then nothing, or headers without end, holds no slot, no place in the queue and
// nothing on the scorecard. It does hold a goroutine and some kilobytes of the server,
// which by default lets each connection have as many of them as it likes, for ever. A
// server that strangers reach sets, with periods of its own choice:
//
//	grpc.ConnectionTimeout(10 * time.Second), // until HTTP/2 is spoken; by default two minutes
//	grpc.MaxConcurrentStreams(100),           // per connection
//	grpc.MaxHeaderListSize(64 << 10),         // by default 16 MiB
//	grpc.KeepaliveParams(keepalive.ServerParameters{
//		MaxConnectionIdle: 5 * time.Minute,
//		// Nothing else ends a call whose message never comes, if its client answers pings
//		// and brought no deadline.
//		MaxConnectionAge: 30 * time.Minute, MaxConnectionAgeGrace: time.Minute,
//		// A client that is gone, or in the middle of headers, cannot answer.
//		Time: time.Minute, Timeout: 20 * time.Second,
//	}),
//	grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 30 * time.Second}), // against floods of pings
//
// and bounds the number of connections where it listens, say by
// golang.org/x/net/netutil.LimitListener. The grace ends long calls too: give it the
// length of the longest that is to be let through. Streams are asked about when they
// open, so one that holds a slot holds it for a slow client as well. What a client
// may hold of them is for a rule of the scorecard.
//
// # What a load balancer is told
//
// With [Config.LoadReports] every answer says how loaded this replica is, so that
// clients that weigh replicas by ORCA reports (gRFC A51, A58) move load away from
// one that sheds; [RegisterLoadReports] tells it to those who ask out of band.
//
// # Placement
//
// Recovery, tracing and logs go outside this interceptor, authentication and all
// that costs goes inside. An interceptor runs once a unary request has been
// received and decoded. Where messages are large, [Config.Tap] turns calls that are
// certain to be shed away before that.
package grpcmw
