package debug

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/admission"
)

func TestExplainForm(t *testing.T) {
	inOverload(t, func(t *testing.T, ctrl *admission.Controller) {
		h := Handler(ctrl)
		before := ctrl.Stats()
		query := "?explain=1&lane=write&priority=t5&tenant=" + url.QueryEscape(markup) + "&key=k&deadline=250ms&cost=&bytes="
		w := get(t, h, query)
		page := w.Body.String()
		for _, want := range []string{`<b class="verdict shed">be shed</b>`, "by lag in lane write: priority.", `<option selected>write</option>`, `value="t5"`, `value="&lt;script&gt;`} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q", want)
			}
		}
		wantStrict(t, page, w.Header().Get("Content-Security-Policy"))
		if text := get(t, h, query+"&format=text").Body.String(); !strings.Contains(text, "of priority t5/") || !strings.Contains(text, "would be shed\n") {
			t.Errorf("the text does not explain:\n%s", text)
		}
		var r struct {
			Explain struct {
				Verdict, Priority string
				Certain           bool
				Steps             []struct{ Stage, Verdict, Why string }
			}
		}
		if err := json.Unmarshal(get(t, h, "?explain=1&lane=write&priority=t1/3&key=k&format=json").Body.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if x := r.Explain; x.Verdict != "run" || x.Priority != "t1/3" || !x.Certain || len(x.Steps) < 5 {
			t.Errorf("a request of t1: %+v", x)
		}
		if after := ctrl.Stats(); after.Lanes[1].Tiers != before.Lanes[1].Tiers {
			t.Errorf("asking has changed what was counted: %+v to %+v", before.Lanes[1].Tiers, after.Lanes[1].Tiers)
		}
	})
}

func TestExplainSaysAllThatIsWrongWithTheQuestion(t *testing.T) {
	h := Handler(newController(t, admission.Config{}))
	query := "?explain=1&priority=t9&cost=-1&bytes=x&deadline=0s"
	for _, format := range []string{"html", "json", "text"} {
		w := get(t, h, query+"&format="+format)
		for _, want := range []string{"priority is", "cost is", "bytes is", "deadline is", "must be"} {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s lacks %q", format, want)
			}
		}
		if status := map[bool]int{true: http.StatusOK, false: http.StatusBadRequest}[format == "html"]; w.Code != status {
			t.Errorf("%s: status %d, want %d", format, w.Code, status)
		}
	}
	// An unknown lane is the controller's to complain about.
	if w := get(t, h, "?explain=1&lane=wirte"); !strings.Contains(w.Body.String(), "be refused as invalid") || !strings.Contains(w.Body.String(), "wirte") {
		t.Error("an unknown lane is not told")
	}
}

// What the question says is shown as harmlessly as all else, in every format.
func TestExplainEscapesTheQuestion(t *testing.T) {
	h := Handler(newController(t, admission.Config{}))
	for _, format := range []string{"html", "live", "json", "text"} {
		body := get(t, h, "?explain=1&lane=%1b%5b31m%c2%9b&tenant=%1b%c2%9b&key=%1b%c2%9b&format="+format).Body.String()
		if strings.ContainsAny(body, "\x1b\u009b") {
			t.Errorf("format %s moves a terminal's cursor", format)
		}
		if !strings.Contains(body, `x1b[31m`) {
			t.Errorf("format %s does not name the lane", format)
		}
	}
}
