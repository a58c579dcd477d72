// Package oteladmission tells OpenTelemetry of an [admission.Controller]: its numbers
// as metrics, and its decisions on the spans of the requests. It needs OpenTelemetry's API alone; which SDK
// is behind it is the program's choice.
//
//	hooks, err := oteladmission.Hooks(meterProvider, admission.Hooks{})
//	…
//	ctrl, err := admission.New(cfg, admission.WithHooks(hooks))
//	…
//	registration, err := oteladmission.Register(meterProvider, ctrl)
//
// # Metrics
//
// Instruments are observed when the reader collects and cost a request nothing. All
// names and attributes begin with "admission."; all have the attribute limiter. They are
// those of package promadmission, where their meaning stands, but for tenants, which are
// not told, and histograms, which cannot be observed: of waits there is one, see [Hooks],
// and http.server.request.duration or its like has the service time.
//
//	name                      instrument     unit       attributes
//	requests                  counter        {request}  lane, priority, decision, reason
//	outcomes                  counter        {request}  lane, outcome
//	shadow.rejections         counter        {request}  lane, priority, reason
//	early.rejections          counter        {request}  lane
//	exempt.requests           counter        {request}
//	inflight                  updowncounter  {slot}     lane
//	inflight_max              updowncounter  {slot}     lane
//	overrun                   updowncounter  {slot}     lane
//	limit                     updowncounter  {slot}     lane
//	limit_min                 updowncounter  {slot}     lane
//	limit_max                 updowncounter  {slot}     lane
//	limit_resting             gauge          1          lane
//	baseline                  gauge          s          lane
//	demand                    gauge          1          lane
//	queue.length              updowncounter  {request}  lane, priority
//	queue.capacity            updowncounter  {request}  lane
//	queue.oldest              gauge          s          lane
//	queue.lifo                gauge          1          lane
//	shed_ratio                gauge          1          lane
//	gate.threshold            gauge          {tier}     lane
//	gate.binding              gauge          1          lane, signal
//	regulator.signal          gauge          1          regulator
//	regulator.setpoint        gauge          1          regulator
//	regulator.stale           gauge          1          regulator
//	regulator.misses          counter        {poll}     regulator
//	regulator.shed_ratio      gauge          1          regulator
//	regulator.pressed         updowncounter  {actor}    regulator
//	regulator.rejections      counter        {request}  regulator
//	regulator.panics          counter        {panic}    regulator
//	rule.inflight             updowncounter  {request}  rule
//	rule.values               updowncounter  {value}    rule
//	rule.admitted             counter        {request}  rule
//	rule.rejections           counter        {request}  rule
//	rule.shadow_rejections    counter        {request}  rule
//	config.info               gauge          1          mode, hash
//	config.applied_timestamp  gauge          s
//	config.reload_failures    counter        {config}
//	request.queue.duration    histogram      s          lane, priority
//
// # Spans
//
// The span in the request's context, such as otelhttp's or otelgrpc's, gets attributes
// of the decision: admission.decision (admitted or shed), limiter, lane, priority (t0 to
// t5) and cohort; queue.wait, in seconds, of those that waited; reason and stage of
// those shed. An event admission.shed, and status Error, mark a request that was shed,
// admission.long_wait one that waited for long, admission.shadow_shed one that mode
// shadow would have shed. Those that are admitted without a wait, the most of them, are
// left out, unless [EveryDecision] is given. The middleware that begins spans must be outside this
// library's.
//
// # Baggage
//
// [Extract] and [Inject] carry priority and tenant over a call graph. Neither is used
// unless the program calls it; with httpmw, in Classify:
//
//	Classify: func(r *http.Request) admission.Request {
//		var req admission.Request
//		if fromMesh(r) { // by its client certificate, say
//			req.Priority, req.Tenant = oteladmission.Extract(r.Context())
//		}
//		return req
//	},
package oteladmission
