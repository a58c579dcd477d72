package oteladmission

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/internal/facts"
)

const defaultLongWait = 100 * time.Millisecond

// WithLongWait sets how long a request must have waited in the queue for an event
// on its span. Without it: 100 ms. Zero: every wait. It concerns [Hooks] alone.
func WithLongWait(d time.Duration) Option {
	return func(o *options) error {
		if d < 0 {
			return fmt.Errorf("oteladmission: long wait is %v: must not be negative", d)
		}
		o.longWait = d.Seconds()
		return nil
	}
}

// EveryDecision puts the decision also on the spans of requests that are admitted
// without a wait. Without it a span that says nothing of a decision is one of those,
// and they pay nothing; with it each pays for a look whether its span records: some
// nanoseconds, more the deeper its context is. It concerns [Hooks] alone.
func EveryDecision() Option {
	return func(o *options) error { o.minWait = 0; return nil }
}

// Hooks returns hooks for [admission.WithHooks] that put the decision on the span of a
// request that is shed or has to wait, if the span records, and then call next's, which
// may be empty. No span is begun: the decision belongs to that of whoever asks, the
// server's.
//
// Where provider is not nil they also measure waits in a histogram,
// admission.request.queue.duration, with the request's context, so that its
// exemplars lead to traces; a request that did not wait is not in it.
//
// A request that does not wait pays nothing, with [EveryDecision] some nanoseconds and
// no allocation where its span does not record.
func Hooks(provider metric.MeterProvider, next admission.Hooks, opts ...Option) (admission.Hooks, error) {
	o, err := gather(opts)
	if err != nil {
		return admission.Hooks{}, err
	}
	h := &hooks{options: o, next: next}
	h.prepared.Store(&map[class][]metric.RecordOption{})
	if provider != nil {
		h.wait, err = provider.Meter(scope, metric.WithSchemaURL(schemaURL)).Float64Histogram(
			namespace+"request.queue.duration", metric.WithUnit("s"),
			metric.WithDescription("Time that admitted requests spent in the queue, of those that waited."),
			metric.WithExplicitBucketBoundaries(waitBounds...))
		if err != nil {
			return admission.Hooks{}, fmt.Errorf("oteladmission: %w", err)
		}
	}
	ours := next
	ours.Admit, ours.Shed, ours.MinWait = h.admit, h.shed, o.minWait
	if next.Admit != nil {
		ours.Admit, ours.MinWait = h.both, min(o.minWait, next.MinWait)
	}
	return ours, nil
}

// waitBounds double from a millisecond: waits are a part of a deadline.
var waitBounds = []float64{0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096}

type hooks struct {
	*options
	next admission.Hooks
	wait metric.Float64Histogram // nil: none

	// prepared options cost no allocation per request. There is one for each class
	// that has waited: lanes and tiers are few.
	prepared atomic.Pointer[map[class][]metric.RecordOption]
}

type class struct {
	lane string
	tier admission.Tier
}

func (h *hooks) admit(ctx context.Context, a admission.Admission) {
	if span := trace.SpanFromContext(ctx); a.Waited > 0 || span.IsRecording() {
		h.tell(ctx, span, a)
	}
}

// both is for who has a hook of his own, which may be for other waits than ours.
func (h *hooks) both(ctx context.Context, a admission.Admission) {
	if a.Waited >= h.minWait {
		h.admit(ctx, a)
	}
	if a.Waited >= h.next.MinWait {
		h.next.Admit(ctx, a)
	}
}

// tell is a function of its own to keep small what each request calls.
func (h *hooks) tell(ctx context.Context, span trace.Span, a admission.Admission) {
	if a.Waited > 0 && h.wait != nil {
		h.wait.Record(ctx, a.Waited.Seconds(), h.of(class{a.Lane, a.Priority.Tier()})...)
	}
	if span.IsRecording() {
		h.annotate(span, a)
	}
}

func (h *hooks) of(c class) []metric.RecordOption {
	for {
		all := h.prepared.Load()
		if opts, ok := (*all)[c]; ok {
			return opts
		}
		more := maps.Clone(*all)
		more[c] = []metric.RecordOption{metric.WithAttributeSet(
			h.attributes([]string{"lane", "priority"}, []string{c.lane, c.tier.String()}))}
		h.prepared.CompareAndSwap(all, &more)
	}
}

func (h *hooks) annotate(span trace.Span, a admission.Admission) {
	span.SetAttributes(h.describe("admitted", a.Lane, a.Priority)...)
	if a.Waited == 0 {
		return
	}
	wait := attribute.Float64(namespace+"queue.wait", a.Waited.Seconds())
	span.SetAttributes(wait)
	if a.Waited.Seconds() >= h.longWait {
		span.AddEvent(namespace+"long_wait", trace.WithAttributes(wait))
	}
}

func (h *hooks) shed(ctx context.Context, r admission.Refusal) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		h.annotateShed(span, r)
	}
	if h.next.Shed != nil {
		h.next.Shed(ctx, r)
	}
}

// annotateShed: a request that runs, in shadow, is no error.
func (h *hooks) annotateShed(span trace.Span, r admission.Refusal) {
	why := []attribute.KeyValue{
		attribute.String(namespace+"reason", r.Err.Reason.String()),
		attribute.String(namespace+"stage", facts.Valid(r.Err.Stage)),
	}
	decision, event := "shed", "shed"
	if r.Shadow {
		decision, event = "admitted", "shadow_shed"
	} else {
		span.SetStatus(codes.Error, "shed: "+r.Err.Reason.String())
	}
	span.SetAttributes(h.describe(decision, r.Err.Lane, r.Priority)...)
	span.SetAttributes(why...)
	span.AddEvent(namespace+event, trace.WithAttributes(why...))
}

func (h *hooks) describe(decision, lane string, p admission.Priority) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String(namespace+"decision", decision),
		attribute.String(namespace+"limiter", h.limiter),
		attribute.String(namespace+"lane", facts.Valid(lane)),
		attribute.String(namespace+"priority", p.Tier().String()),
		attribute.Int(namespace+"cohort", p.Cohort()),
	}
}
