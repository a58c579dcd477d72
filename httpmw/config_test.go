package httpmw

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission"
)

func TestZeroConfigIsValid(t *testing.T) {
	if err := (Config{}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestAllFaultsOfAConfigAreNamedAtOnce(t *testing.T) {
	c := Config{
		NoRetryHeader: "no retry",
		ReasonHeader:  "X-Reason:",
		UnsizedBytes:  -1,
		Headers: Headers{
			Priority: "p\r\nx", Tenant: "t t", Caller: "ü", Attempt: "(",
			Deadlines:   []string{"ok-ms", "", "not ok"},
			MinDeadline: -time.Second, MaxDeadline: -time.Minute,
		},
	}
	err := c.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		`httpmw: NoRetryHeader is "no retry", must be a header name`,
		`httpmw: ReasonHeader is "X-Reason:", must be`,
		`httpmw: UnsizedBytes is -1, must not be negative`,
		`httpmw: Headers.Priority is "p\r\nx", must be`,
		`httpmw: Headers.Tenant is "t t"`,
		`httpmw: Headers.Caller is "ü"`,
		`httpmw: Headers.Attempt is "("`,
		`httpmw: Headers.Deadlines[1] is empty`,
		`httpmw: Headers.Deadlines[2] is "not ok"`,
		`httpmw: Headers.MinDeadline is -1s, must not be negative`,
		`httpmw: Headers.MaxDeadline is -1m0s, must not be negative`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in\n%v", want, err)
		}
	}
	c, _ = c.checked()
	h := c.Headers
	if c.UnsizedBytes != 0 || c.NoRetryHeader+c.ReasonHeader+h.Priority+h.Tenant+h.Caller+h.Attempt != "" {
		t.Errorf("fields at fault are in force: %+v", c)
	}
	if len(h.Deadlines) != 1 || h.Deadlines[0] != "Ok-Ms" || h.MinDeadline != time.Millisecond || h.MaxDeadline != time.Hour {
		t.Errorf("deadlines in force: %+v", h)
	}
}

func TestBoundsOfDeadlinesAreOrdered(t *testing.T) {
	c := Config{Headers: Headers{MinDeadline: 2 * time.Second, MaxDeadline: time.Second}}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "MinDeadline is 2s, must be at most MaxDeadline, which is 1s") {
		t.Errorf("error is %v", err)
	}
	c = Config{Headers: Headers{MinDeadline: 2 * time.Hour}} // above the default of the other
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

func TestMistakesAreLogged(t *testing.T) {
	var log bytes.Buffer
	c := Config{ReasonHeader: "x y", Logger: slog.New(slog.NewTextHandler(&log, nil))}
	New((*admission.Controller)(nil), c)(nil)
	for _, want := range []string{"invalid config", "ReasonHeader", "handler to wrap is nil"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in the log:\n%s", want, log.String())
		}
	}
}
