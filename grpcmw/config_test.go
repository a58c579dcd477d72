package grpcmw_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

func TestInvalidConfigNamesAllAndGoesOn(t *testing.T) {
	var log bytes.Buffer
	cfg := grpcmw.Config{
		Metadata: grpcmw.Metadata{
			Priority: "grpc-priority", Tenant: "tenant id", Caller: "caller-bin", Attempt: "X-Attempt",
			Trusted: func(context.Context) bool { return true },
		},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}
	err := cfg.Validate()
	if err == nil {
		t.Fatal("it passes for valid")
	}
	for _, want := range []string{
		`Metadata.Priority is "grpc-priority", must not begin with "grpc-"`,
		`Metadata.Tenant is "tenant id", must be of letters`,
		`Metadata.Caller is "caller-bin", must not end with "-bin"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nhas no %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "Attempt") {
		t.Errorf("%v: Attempt is fine", err)
	}
	s := &spy{}
	client := pair(t, control(t, admission.Config{}, watched(s)), cfg, &service{})
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines logged, want 1:\n%s", n, log.String())
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-attempt", "2", "tenantid", "acme")
	if r := ask(ctx, client); r.code != codes.OK || s.Last().Attempt != 1 {
		t.Errorf("%+v, request %+v", r, s.Last())
	}
	if err := (grpcmw.Config{}).Validate(); err != nil {
		t.Errorf("zero config: %v", err)
	}
}
