package debug

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/spillway-go/spillway/admission"
)

// explainReport is what would become of a request now.
type explainReport struct {
	Error      string             `json:"error"` // what Admit would return; or what is wrong with the question
	Mode       admission.Mode     `json:"mode"`
	Lane       string             `json:"lane"`
	Priority   admission.Priority `json:"priority"`
	Cost       int                `json:"cost"`
	Verdict    admission.Verdict  `json:"verdict"`
	Certain    bool               `json:"certain"`
	WaitS      float64            `json:"wait_s"`
	AllowanceS float64            `json:"allowance_s"`
	Steps      []stepReport       `json:"steps"`
}

type stepReport struct {
	Stage   string            `json:"stage"`
	Verdict admission.Verdict `json:"verdict"`
	Why     string            `json:"why"`
}

// asked tells whether a query asks for an explanation.
func asked(q url.Values) bool { return q.Has("explain") }

// explain asks about the request that a query describes; the error names all fields
// that cannot be read.
func explain(ctrl *admission.Controller, q url.Values) (*explainReport, error) {
	r, deadline, err := requestOf(q)
	if err != nil {
		return nil, err
	}
	ctx := context.Background() // the reader's own deadline is not the request's
	if deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadline)
		defer cancel()
	}
	x := ctrl.Explain(ctx, r)
	report := &explainReport{
		Error: text(x.Err), Mode: x.Mode, Lane: printable(x.Request.Lane), Priority: x.Request.Priority, Cost: x.Request.Cost,
		Verdict: x.Verdict, Certain: x.Certain, WaitS: x.Wait.Seconds(), AllowanceS: x.Allowance.Seconds(), Steps: []stepReport{},
	}
	for _, s := range x.Steps {
		report.Steps = append(report.Steps, stepReport{s.Stage, s.Verdict, printable(s.Why)})
	}
	return report, nil
}

// requestOf reads the form's fields.
func requestOf(q url.Values) (r admission.Request, deadline time.Duration, err error) {
	r = admission.Request{
		Lane: q.Get("lane"), Tenant: q.Get("tenant"), Caller: q.Get("caller"), Op: q.Get("op"), Key: q.Get("key"),
	}
	var errs []error
	read := func(field, rule string, parse func(text string) error) {
		if text := q.Get(field); text != "" && parse(text) != nil {
			errs = append(errs, fmt.Errorf("%s is %.40q: must be %s", field, text, rule))
		}
	}
	read("priority", `t0 to t5, optionally followed by a cohort, /0 to /127`, func(text string) (err error) {
		r.Priority, err = admission.ParsePriority(text)
		return err
	})
	read("cost", "a whole number of slots, at least 0", func(text string) error {
		n, err := strconv.ParseUint(text, 10, 31)
		r.Cost = int(n)
		return err
	})
	read("bytes", "a whole number, at least 0", func(text string) error {
		n, err := strconv.ParseUint(text, 10, 63)
		r.Bytes = int64(n)
		return err
	})
	read("deadline", "a time above 0 such as 250ms", func(text string) (err error) {
		deadline, err = time.ParseDuration(text)
		if err == nil && deadline <= 0 {
			err = strconv.ErrRange
		}
		return err
	})
	return r, deadline, errors.Join(errs...)
}
