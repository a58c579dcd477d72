package grpcmw

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/spillway-go/spillway/admission"
)

// Domain is that of the ErrorInfo in every refusal. Its reason is the
// controller's, in the form that ErrorInfo asks for: TENANT_CAP, QUEUE_TIMEOUT.
const Domain = "github.com/spillway-go/spillway"

// answer is a refusal on the wire. grpc-go copies what it sends of it.
type answer struct {
	err      error
	pushback metadata.MD // come again after the hint; nil without one
}

const (
	pushbackKey = "grpc-retry-pushback-ms"

	// hintGrain is what hints are rounded up to: fine enough that clients who are
	// shed together stay spread, since they wait for exactly as long as they are
	// told.
	hintGrain = 50 * time.Millisecond

	// usualHints is up to where answers are kept: the controller's hints end at
	// 15 s. It costs 8 bytes each, and the answers that were really given.
	usualHints = int(15*time.Second/hintGrain) + 1
)

var (
	doNotRetry = metadata.Pairs(pushbackKey, "-1")
	answers    [admission.NumReasons][usualHints]atomic.Pointer[answer] // made when first needed
	errLeft    = status.Error(codes.Canceled, "the caller left while it waited")
	errInvalid = status.Error(codes.Internal, "the call cannot be described to the admission controller")
)

// answerTo is the answer for a reason and a hint, which is none unless positive.
func answerTo(reason admission.Reason, hint time.Duration) *answer {
	n := 0
	if hint > 0 {
		n = int((hint-1)/hintGrain) + 1
	}
	if n >= usualHints {
		return newAnswer(reason, hint)
	}
	kept := &answers[reason][n]
	a := kept.Load()
	if a == nil {
		a = newAnswer(reason, time.Duration(n)*hintGrain)
		kept.Store(a) // many may make it at once: one is as good as another
	}
	return a
}

func newAnswer(reason admission.Reason, hint time.Duration) *answer {
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{
		Reason: strings.ReplaceAll(strings.ToUpper(reason.String()), "-", "_"),
		Domain: Domain,
	}}
	code, says := meaning(reason)
	if code == codes.ResourceExhausted {
		details = append(details, &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{
			{Subject: "caller", Description: says},
		}})
	}
	a := &answer{}
	if hint > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(hint)})
		a.pushback = metadata.Pairs(pushbackKey, strconv.FormatInt(hint.Milliseconds(), 10))
	}
	s := status.New(code, fmt.Sprintf("%s (%s)", says, reason))
	if detailed, err := s.WithDetails(details...); err == nil {
		s = detailed
	}
	a.err = s.Err()
	return a
}

// meaning is a reason in the words of gRPC.
func meaning(reason admission.Reason) (code codes.Code, says string) {
	switch reason {
	case admission.ReasonTenantCap, admission.ReasonKeyed:
		return codes.ResourceExhausted, "this caller has more under way than it may"
	case admission.ReasonDeadline:
		return codes.DeadlineExceeded, "less time is left than such a call takes now"
	case admission.ReasonClosed:
		return codes.Unavailable, "the server is shutting down"
	}
	return codes.Unavailable, "the server is overloaded"
}
