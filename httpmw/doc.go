// Package httpmw is net/http middleware around an [admission.Controller]: each
// request is admitted, made to wait a little, or shed with a short answer, and
// how it came out is reported back.
//
//	ctrl, err := admission.New(admission.Config{})
//	...
//	defer ctrl.Close()
//	srv := &http.Server{Addr: addr, Handler: httpmw.Wrap(ctrl, mux)}
//
// [Wrap] is [New] with the zero [Config], which believes no header, lets health
// probes pass ([IsProbe]) and needs no tuning.
//
// # What a shed request is told
//
//	reason                               status  Retry-After
//	tenant-cap, keyed: this caller       429     as computed by the controller
//	deadline: it would come too late     503     none
//	all others: this replica is full     503     as computed by the controller
//
// Retry-After is a whole number of seconds, at least 1. None means: do not
// retry; what is too large for a guard ever to let in is told so too. The body
// is problem+json (RFC 9457) with a member "reason" where the Accept header
// permits it, else one line of text; neither names a tenant, a limit or a key.
// [Config.Reject] replaces all of it.
//
// A request whose description the controller finds invalid (an unknown lane, a
// negative cost) is the program's mistake: it is answered 500 and the first one
// is logged. A caller that leaves while it waits is not answered. Since net/http
// sends an empty 200 for a handler that is silent, only a context whose cause is
// [context.Canceled], as the server makes it when the client is gone, counts as
// having left. A deadline that passes in the queue is answered as reason
// deadline, any other cause (that of [os/signal.NotifyContext] as a base
// context, say) as reason closed. Whoever cancels a base context by hand should therefore
// use [context.WithCancelCause].
//
// # What is reported
//
// Status 503 or 504, or a deadline of the request's context that has passed, is
// Overload. Any other 5xx is Failure, as is a panic, which goes on untouched
// ([http.ErrAbortHandler] stays itself), and [runtime.Goexit]. A client that went
// away is Ignore. All else is Success. [Config.Outcome] replaces the rule.
//
// Long-lived requests are never a latency sample. A hijacked connection (a
// websocket) and an event stream give their slot back when they begin: at the
// hijack, or at the first flush of a response of type text/event-stream. They
// were admitted like any other request and count for nothing afterwards. With
// [Config.StreamLane] they keep a slot in a lane of their own until the handler
// returns, so that the lane's limit bounds how many there are.
//
// # What a load balancer is told
//
// With [Config.LoadHeader] every answer says how loaded this replica is, so that
// a proxy that weighs by ORCA reports moves load away from one that sheds.
//
// # Placement
//
// Recovery, tracing and access logs go outside this middleware, authentication
// and all that costs goes inside. Outside a ServeMux the route is not known yet;
// [Config.Mux] resolves it.
//
// [http.TimeoutHandler] belongs outside: TimeoutHandler(Wrap(ctrl, h)). Its 503
// goes out in time, and the slot is held until the handler has really returned.
// The other way round the slot is free while the handler it gave up on still
// runs, and more of them run than the limit says. But its ResponseWriter hides
// SetReadDeadline (see below), so give that server a ReadTimeout.
//
// # Bodies and guards that count bytes
//
// A request counts with its Content-Length, of which the server reads no more,
// before a byte of it is read and until its handler returns. What the handler
// makes of it is not counted: where it holds two copies, the bound is for half the
// memory. A body whose length is not declared counts as [Config.UnsizedBytes].
// A service that bounds the memory of its uploads sets all three:
//
//	admission.RegulatorConfig{Kind: "bytes", Limit: 256 << 20}
//	httpmw.New(ctrl, httpmw.Config{UnsizedBytes: 8 << 20})(http.MaxBytesHandler(mux, 8<<20))
//
// # Slow clients
//
// An admitted request holds its slot while its handler reads a slow body or writes to
// a slow reader: some hundred such clients could hold all the slots there are, whatever
// their priority. Give the server a ReadTimeout and a WriteTimeout, and keep whom you
// do not know together within a share: strangers, whose header names no tenant that is
// believed, are all of the tenant "".
//
//	scorecard.Rule{Name: "strangers", Match: "tenant:", Cap: scorecard.Cap{Share: 0.5}}
//
// # Bodies of shed requests
//
// On HTTP/1 net/http reads what is left of a request's body before it sends the
// answer, so a slow upload would hear of its refusal only when it is through.
// When it sheds a request with a body, this middleware therefore allows 50 ms for
// the rest of it: a body that has arrived by then leaves the connection alive, a
// slow one gets its answer and loses the connection. HTTP/2 has no such trouble.
// Clients with big uploads do best to send Expect: 100-continue: a refusal then
// costs them no body at all.
//
// On HTTP/1, too, net/http sees a client leave only once the request's body has
// been read. A queued POST whose client is gone keeps its place until its turn
// comes or its allowance is over; that allowance, not the context, is what bounds
// the wait. HTTP/2 notices at once.
package httpmw
