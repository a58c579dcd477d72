package grpcmw

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/admission"
)

// outcomeOf is the default of [Config.Outcome]. Codes count as the HTTP statuses
// do that google/rpc/code.proto maps them to.
func outcomeOf(code codes.Code, err error) admission.Outcome {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return admission.Overload
	case err != nil:
		return admission.Ignore
	}
	switch code {
	case codes.Unavailable, codes.ResourceExhausted, codes.DeadlineExceeded:
		return admission.Overload
	case codes.Unknown, codes.Internal, codes.DataLoss, codes.Unimplemented:
		return admission.Failure
	case codes.Canceled:
		return admission.Ignore
	}
	return admission.Success
}

// codeOf is the code that the client gets for what a handler returned: the
// server looks for a status first, then for a context's error.
func codeOf(err error) codes.Code {
	code := status.Code(err)
	switch {
	case code != codes.Unknown:
		return code
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	}
	return code
}
