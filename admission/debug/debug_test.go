package debug

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
	"github.com/spillway-go/spillway/scorecard"
)

func TestPageInOverload(t *testing.T) {
	inOverload(t, func(t *testing.T, ctrl *admission.Controller) {
		w := get(t, Handler(ctrl), "")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("status %d, header %v", w.Code, w.Header())
		}
		page := w.Body.String()
		for _, want := range []string{
			"part of t3 and all below in lane write: signal lag at 0.81 of setpoint 0.8.</h1>",
			`<b class="binding">lag</b>`, "<dd>t3/", "orders.test", "each tenant", "<td>tenant-cap</td>",
			"regulators.lag.setpoint", "Lane default has had no requests so far",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q", want)
			}
		}
		if t.Failed() {
			t.Log(page)
		}
		wantStrict(t, page, w.Header().Get("Content-Security-Policy"))
		live := get(t, Handler(ctrl), "?format=live").Body.String()
		if !strings.Contains(page, live) || strings.Contains(live, "<html") {
			t.Error("what the script asks for is not the part of the page that is alive")
		}
	})
}

// The sample in the package comment is what the text looks like, but for the figures.
func TestTextIsAsDocumented(t *testing.T) {
	figures, blanks := regexp.MustCompile(`-?([0-9.]+(e[-+]?[0-9]+)?(ns|µs|ms|s|m|h)?)+`), regexp.MustCompile(` +`)
	shape := func(line string) string {
		return strings.TrimSpace(blanks.ReplaceAllString(figures.ReplaceAllString(line, "0"), " "))
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, sample, ok := strings.Cut(string(doc), "// which answers with")
	sample, _, ok2 := strings.Cut(sample, "// In every format characters")
	if !ok || !ok2 {
		t.Fatal("doc.go has no sample of the text")
	}
	inOverload(t, func(t *testing.T, ctrl *admission.Controller) {
		got := get(t, Handler(ctrl), "?format=text").Body.String()
		if strings.ContainsRune(got, '\x1b') {
			t.Error("the text moves a terminal's cursor")
		}
		rest := slices.Collect(strings.Lines(got))
		n := 0
		for line := range strings.Lines(sample) {
			want, ok := strings.CutPrefix(line, "//\t")
			if want = shape(want); !ok || want == "…" {
				continue
			}
			n++
			i := slices.IndexFunc(rest, func(l string) bool { return shape(l) == want })
			if i < 0 {
				t.Fatalf("after the line before it, the text lacks one such as %q:\n%s", line, got)
			}
			rest = rest[i+1:]
		}
		if n < 20 {
			t.Errorf("the sample has %d lines", n)
		}
	})
}

// Each field of the JSON form stands in the package comment.
func TestJSONIsAsDocumented(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, documented, ok := strings.Cut(string(doc), "// # JSON")
	if !ok {
		t.Fatal("doc.go has no section about JSON")
	}
	words := map[string]bool{}
	for _, word := range regexp.MustCompile(`[a-z_0-9]+`).FindAllString(documented, -1) {
		words[word] = true
	}
	inOverload(t, func(t *testing.T, ctrl *admission.Controller) {
		w := get(t, Handler(ctrl), "?format=json")
		if got := w.Header().Get("Content-Type"); got != "application/json" {
			t.Errorf("Content-Type is %q", got)
		}
		var report map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &report); err != nil {
			t.Fatal(err)
		}
		eachName(report, func(name string) {
			if !words[name] {
				t.Errorf("field %s is not documented", name)
			}
		})
		lane := report["lanes"].([]any)[1].(map[string]any)
		if lane["name"] != "write" || lane["binding"] != "lag" || !strings.HasPrefix(lane["threshold"].(string), "t3/") {
			t.Errorf("the lane is %v", lane)
		}
		if n := len(lane["points"].([]any)); n < 10 {
			t.Errorf("%d points of 12 s", n)
		}
		if sheds := report["sheds"].([]any); len(sheds) < 4 {
			t.Errorf("the last sheds are %v", sheds)
		}
	})
}

func eachName(v any, tell func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, of := range v {
			tell(name)
			eachName(of, tell)
		}
	case []any:
		for _, of := range v {
			eachName(of, tell)
		}
	}
}

func TestRedactorHidesTenantsAndKeys(t *testing.T) {
	inOverload(t, func(t *testing.T, ctrl *admission.Controller) {
		cfg := ctrl.Config()
		cfg.Scorecard.Rules = append(slices.Clone(cfg.Scorecard.Rules), mustRule(t, "big: tenant:tenant-9;op:x = 5"))
		if err := ctrl.Apply(cfg); err != nil {
			t.Fatal(err)
		}
		cfg.Scorecard.Rules = append(cfg.Scorecard.Rules, scorecard.Rule{Name: "broken", Match: "tenant:tenant-8;op"})
		if ctrl.Apply(cfg) == nil {
			t.Fatal("a broken config was applied")
		}
		for _, format := range []string{"", "?format=json", "?format=text", "?format=live"} {
			open := get(t, Handler(ctrl), format).Body.String()
			closed := get(t, Handler(ctrl, WithRedactor(func(string) string { return "somebody" })), format).Body.String()
			for _, name := range []string{`tenant-[0-6]`, `tenant-8`, `tenant-9`, `order-[0-9]`, `alert\(1\)`} {
				name := regexp.MustCompile(name)
				if name.MatchString(closed) {
					t.Errorf("format %q names %s in spite of the redactor", format, name)
				}
				if !name.MatchString(open) {
					t.Errorf("format %q does not name %s without a redactor", format, name)
				}
			}
			if !strings.Contains(closed, "somebody") || !strings.Contains(closed, "checkout") {
				t.Errorf("format %q shows nobody", format)
			}
		}
	})
}

// nervous is a guard that says whom it broke over.
type nervous struct{}

func (nervous) Enter(_ time.Time, key string, _ int64) error { panic("no room for " + key) }
func (nervous) Exit(string, int64)                           {}

func TestRedactorHidesWhatAGuardSaid(t *testing.T) {
	ctrl := newController(t, admission.Config{Regulators: map[string]admission.RegulatorConfig{"mine": {By: "tenant"}}},
		admission.WithGuard("mine", nervous{}))
	if err := ctrl.Do(t.Context(), admission.Request{Tenant: "acme"}, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"", "?format=json", "?format=text"} {
		if open := get(t, Handler(ctrl), format).Body.String(); !strings.Contains(open, "no room for acme") {
			t.Errorf("format %q does not say what the guard said", format)
		}
		closed := get(t, Handler(ctrl, WithRedactor(func(string) string { return "somebody" })), format).Body.String()
		if strings.Contains(closed, "acme") || !strings.Contains(closed, "Guard mine panics") {
			t.Errorf("format %q names whom it is to hide, or hides the guard", format)
		}
	}
}

func TestMethodsAndFormats(t *testing.T) {
	ctrl := newController(t, admission.Config{})
	h := Handler(ctrl, nil)
	for _, tc := range []struct {
		method, query string
		status        int
		says          string
	}{
		{"GET", "?format=html", 200, "<!doctype html>"},
		{"GET", "?format=xml", 400, "format must be html, json or text"},
		{"POST", "", 405, "only GET and HEAD"},
		{"DELETE", "?format=json", 405, "only GET and HEAD"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(tc.method, "/debug/admission"+tc.query, nil))
		if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.says) {
			t.Errorf("%s %s: status %d: %.80s", tc.method, tc.query, w.Code, w.Body)
		}
		if tc.status == 405 && w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: Allow is %q", tc.method, w.Header().Get("Allow"))
		}
		if w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s %s: no policy", tc.method, tc.query)
		}
	}
	server := httptest.NewServer(h)
	defer server.Close()
	answer, err := server.Client().Head(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("HEAD: %s, %v", answer.Status, answer.Header)
	}
}

// Below /debug/ overload does not shed the page about it.
func TestPageIsExemptFromAdmission(t *testing.T) {
	cfg := admission.Config{Lanes: map[string]admission.LaneConfig{"default": {Limit: admission.LimitConfig{Fixed: 1}}}}
	cfg.Scorecard.Rules = []scorecard.Rule{mustRule(t, "nothing: lane:default = 0")}
	ctrl := newController(t, cfg)
	mux := http.NewServeMux()
	mux.Handle("/debug/admission", Handler(ctrl))
	mux.Handle("/", http.NotFoundHandler())
	h := httpmw.Wrap(ctrl, mux)
	if w := get(t, h, "?format=json"); w.Code != http.StatusOK || ctrl.Stats().Exempt != 1 {
		t.Errorf("the page: status %d, %d exempt requests", w.Code, ctrl.Stats().Exempt)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusTooManyRequests {
		t.Errorf("anything else: status %d, want 429", w.Code)
	}
}

// However many look, the controller is asked at most twice a second.
func TestManyWhoLookShareAReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Handler(newController(t, admission.Config{})).(*handler)
		first := h.report().At
		time.Sleep(fresh)
		if again := h.report().At; again != first {
			t.Errorf("asked again after %v", again.Sub(first))
		}
		time.Sleep(time.Millisecond)
		if again := h.report().At; again == first {
			t.Error("not asked again")
		}
	})
}

func TestLookingWhileRequestsCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctrl := laggard(t)
		cfg := ctrl.Config()
		h := Handler(ctrl)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for range 20 {
					format := []string{"", "?format=json", "?format=text", "?format=live"}[i%4]
					if w := get(t, h, format); w.Code != http.StatusOK {
						t.Errorf("format %q: status %d", format, w.Code)
					}
					time.Sleep(200 * time.Millisecond)
				}
			})
		}
		drive(ctrl, 3*time.Second)
		if err := ctrl.Apply(admission.Config{Regulators: cfg.Regulators, Lanes: cfg.Lanes}); err != nil {
			t.Error(err)
		}
		drive(ctrl, time.Second)
		wg.Wait()
	})
}

// A request that only would have been shed is told from those that were.
func TestTextMarksShadow(t *testing.T) {
	rule := mustRule(t, "each tenant: tenant:* = 0")
	rule.Shadow = true
	ctrl := newController(t, admission.Config{Scorecard: admission.ScorecardConfig{Rules: []scorecard.Rule{rule}}})
	err := ctrl.Do(context.Background(), admission.Request{Tenant: "acme"}, func(context.Context) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, Handler(ctrl), "?format=text").Body.String(); !strings.Contains(got, "  tenant-cap (shadow)  ") {
		t.Error(got)
	}
}
