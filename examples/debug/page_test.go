package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/debug"
	"github.com/spillway-go/spillway/httpmw"
	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// markup is a tenant who would like to be more than text.
const markup = `<img src=x onerror=alert(1)><script>alert(2)</script>`

// TestPageInABrowser opens the page while its service is overloaded.
func TestPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	b := openBrowser(t)
	ctrl := overloaded(t)
	mux := http.NewServeMux()
	mux.Handle("/debug/admission", debug.Handler(ctrl))
	server := httptest.NewServer(httpmw.Wrap(ctrl, mux)) // which lets the page through
	defer server.Close()

	b.call("Page.navigate", map[string]any{"url": server.URL + "/debug/admission"}, nil)
	b.until(`document.readyState == "complete" && document.querySelector("h1.shed") != null`)

	t.Run("what is shed and why", func(t *testing.T) {
		b.until(`document.querySelector("h1").textContent.startsWith("Shedding part of t3 and all below in lane write: signal lag at ")`)
		b.until(`document.querySelector(".binding").textContent == "lag"`)
		l, _ := ctrl.Stats().Lane("write")
		if l.Binding != "lag" || l.Threshold.Tier() != admission.T3 {
			t.Errorf("the controller says %s from %v", l.Binding, l.Threshold)
		}
	})
	t.Run("charts move", func(t *testing.T) {
		first := eval[string](b, `document.querySelector("path.shed").getAttribute("d")`)
		b.until(fmt.Sprintf(`document.querySelector("path.shed").getAttribute("d") != %q`, first))
		if n := eval[int](b, `document.querySelectorAll("figure path[d^=M]:not(.grid)").length`); n < 8 {
			t.Errorf("%d lines are drawn", n)
		}
	})
	t.Run("markup stays text", func(t *testing.T) {
		for _, section := range []string{"summary", "scorecard", "sheds"} {
			b.until(fmt.Sprintf(`document.getElementById(%q).textContent.includes(%q)`, section, markup))
		}
		if n := eval[int](b, `document.querySelectorAll("img, main script, [onerror]").length`); n != 0 {
			t.Errorf("a tenant's name has become %d elements", n)
		}
	})
	t.Run("by keyboard", func(t *testing.T) { byKeyboard(t, b) })
	t.Run("screenshots", func(t *testing.T) {
		b.screenshot("light", "light", 1200, false)
		b.screenshot("dark", "dark", 1200, false)
		b.screenshot("phone", "light", 390, true)
		b.screenshot("phone-dark", "dark", 390, true)
	})
	t.Run("nothing amiss", func(t *testing.T) {
		problems, requests := b.heard()
		for _, p := range problems {
			t.Errorf("console: %s", p)
		}
		for _, url := range requests {
			if !strings.HasPrefix(url, server.URL+"/debug/admission") && url != "about:blank" && url != "data:," {
				t.Errorf("the page asked for %s", url)
			}
		}
		if len(requests) < 3 {
			t.Errorf("the page asked %d times", len(requests))
		}
		if ctrl.Stats().Exempt == 0 {
			t.Error("the page was not exempt")
		}
	})
}

// byKeyboard goes to the form, asks, and reads the answer, without a mouse.
func byKeyboard(t *testing.T, b *browser) {
	press := func(key string, code int, text string) {
		for _, kind := range []string{"keyDown", "keyUp"} {
			b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text}, nil)
			text = ""
		}
	}
	for i := 0; eval[string](b, `document.activeElement.name ?? ""`) != "tenant"; i++ {
		if i > 60 {
			t.Fatal("the tab key does not lead to the form")
		}
		press("Tab", 9, "")
	}
	b.call("Input.insertText", map[string]any{"text": markup}, nil)
	time.Sleep(2500 * time.Millisecond) // the page renews itself meanwhile
	if got := eval[string](b, `document.activeElement.value`); got != markup {
		t.Fatalf("what was typed is now %q", got)
	}
	press("Enter", 13, "\r")
	b.until(`document.querySelector("#explained .verdict") != null && document.querySelectorAll("#explained tbody tr").length > 3`)
	if got := eval[string](b, `document.querySelector("[name=tenant]").value`); got != markup {
		t.Errorf("the form's tenant is %q", got)
	}
}

// overloaded returns a controller whose lane write is asked by t1, t3 and t5 alike, and
// whose lag is too high until about half is shed: then t5 is shed and a part of t3.
func overloaded(t *testing.T) *admission.Controller {
	t.Helper()
	var enough atomic.Bool
	lag := func(context.Context) (float64, error) {
		if enough.Load() {
			return 0.8, nil
		}
		return 1.4, nil
	}
	ctrl, err := admission.New(admission.Config{
		Lanes: map[string]admission.LaneConfig{"write": {Limit: admission.LimitConfig{Fixed: 1000}}},
		Scorecard: admission.ScorecardConfig{Rules: []scorecard.Rule{
			{Name: "each tenant", Match: "tenant:*", Cap: scorecard.Cap{N: 400}},
			{Name: "never", Match: "tenant:*;caller:nobody", Cap: scorecard.Cap{}},
		}},
		Regulators: map[string]admission.RegulatorConfig{
			"lag": {Setpoint: 0.8, KI: 0.5, Period: 100 * time.Millisecond, Lanes: []string{"write"}},
		},
	}, admission.WithSignal("lag", regulators.Func(lag)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			r := admission.Request{
				Lane: "write", Priority: []admission.Tier{admission.T1, admission.T3, admission.T5}[i%3].Priority(),
				Tenant: fmt.Sprintf("tenant-%d", i%9), Caller: "checkout", Op: "PUT /orders/{id}", Key: fmt.Sprintf("order-%d", i),
			}
			if i%50 == 0 {
				r.Tenant, r.Caller = markup, "nobody"
			}
			running.Go(func() {
				_ = ctrl.Do(ctx, r, func(context.Context) error { time.Sleep(30 * time.Millisecond); return nil })
			})
			if l, _ := ctrl.Stats().Lane("write"); i%10 == 0 && l.ShedRatio > 0.5 {
				enough.Store(true)
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if err := ctrl.Close(); err != nil {
			t.Error(err)
		}
	})
	return ctrl
}
