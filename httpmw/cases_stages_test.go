package httpmw_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
	"github.com/spillway-go/spillway/scorecard"
)

// B13: what was refused on the way was never counted up, and is not counted
// down.
func TestRefusalsOnTheWayLeaveInflightAlone(t *testing.T) {
	regulator := &admission.ShedError{Reason: admission.ReasonRegulator}
	s := &spy{Verdict: func(r *admission.Request) error {
		if r.Caller == "regulator" {
			return regulator
		}
		return nil
	}}
	cfg := only(pinned(200, 1))
	cfg.Scorecard.Rules = []scorecard.Rule{{Name: "forbidden", Match: "tenant:forbidden"}}
	cfg.Lanes["full"] = pinned(1, 1)
	ctrl := control(t, cfg, watched(s))
	held, err := ctrl.TryAdmit(context.Background(), admission.Request{Lane: "full"})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release(admission.Ignore)

	var running gauge
	free := make(chan struct{})
	h := httpmw.New(ctrl, httpmw.Config{Classify: func(r *http.Request) admission.Request {
		q := r.URL.Query()
		return admission.Request{Tenant: q.Get("tenant"), Caller: q.Get("caller"), Lane: q.Get("lane"), Cost: len(q.Get("cost"))}
	}})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		running.Enter()
		defer running.Leave()
		<-free
	}))
	var admitted sync.WaitGroup
	for range 100 {
		admitted.Go(func() { get(h, "/") })
	}
	for running.Now() < 100 {
		runtime.Gosched()
	}
	// The lane "full" is filled by a waiter that leaves in the end.
	ctx, leave := context.WithCancel(context.Background())
	waiter := make(chan struct{})
	go func() {
		defer close(waiter)
		_, _ = ctrl.Admit(ctx, admission.Request{Lane: "full", Priority: admission.NewPriority(admission.T0, 0)})
	}()
	for queued := 0; queued == 0; runtime.Gosched() {
		l, _ := ctrl.Stats().Lane("full")
		queued = l.Queued[admission.T0]
	}
	for _, c := range []struct {
		query string
		want  int
	}{{"?tenant=forbidden", 429}, {"?caller=regulator", 503}, {"?lane=full", 503}} {
		for i := range 10_000 {
			if code := get(h, "/"+c.query).Code; code != c.want {
				t.Fatalf("%s: %d, want %d", c.query, code, c.want)
			}
			if i%100 == 0 {
				if l, _ := ctrl.Stats().Lane("default"); l.Inflight != 100 {
					t.Fatalf("%s: inflight is %d, want 100", c.query, l.Inflight)
				}
			}
		}
	}
	leave()
	<-waiter
	admission.Ticket{}.Release(admission.Success) // never granted
	close(free)
	admitted.Wait()
}

// B31: what earlier stages took of a request that a later one refuses is given
// back, and one tenant's refusals cost another nothing.
func TestEveryStageIsUndone(t *testing.T) {
	byTenant := httpmw.Config{Classify: func(r *http.Request) admission.Request {
		return admission.Request{Tenant: r.URL.Query().Get("tenant")}
	}}
	capped := func(limit, queue int) admission.Config {
		cfg := only(pinned(limit, queue))
		cfg.Scorecard.Rules = []scorecard.Rule{{Name: "each", Match: "tenant:*", Cap: scorecard.Cap{N: 2}}}
		return cfg
	}
	held := func(c *admission.Controller) int { return int(c.Stats().Rules[0].Held) }

	t.Run("a full lane costs the tenant nothing", func(t *testing.T) {
		ctrl := control(t, capped(1, 1))
		free := make(chan struct{})
		h := httpmw.New(ctrl, byTenant)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-free }))
		ticket := hold(t, ctrl)
		leave := fill(t, ctrl, 1)
		before := held(ctrl)
		for range 1000 {
			if code := get(h, "/?tenant=acme").Code; code != 503 {
				t.Fatalf("%d, want 503", code)
			}
		}
		if n := held(ctrl); n != before {
			t.Errorf("%d held after refusals alone, want %d", n, before)
		}
		leave()
		ticket.Release(admission.Ignore)
		if err := ctrl.Apply(capped(5, 1)); err != nil {
			t.Fatal(err)
		}
		codes := make(chan int, 3)
		for range 3 {
			go func() { codes <- get(h, "/?tenant=acme").Code }()
		}
		if code := <-codes; code != 429 { // the others are held up
			t.Errorf("first answer %d, want 429 for the third", code)
		}
		close(free)
		if a, b := <-codes, <-codes; a != 200 || b != 200 {
			t.Errorf("answers %d and %d, want 200", a, b)
		}
	})
	t.Run("a noisy tenant costs another nothing", func(t *testing.T) {
		ctrl := control(t, capped(5, 1))
		free := make(chan struct{})
		var noisy sync.WaitGroup
		h := httpmw.New(ctrl, byTenant)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.RawQuery, "noisy") {
				<-free
			}
		}))
		for range 2 {
			noisy.Go(func() { get(h, "/?tenant=noisy") })
		}
		for held(ctrl) < 2 {
			runtime.Gosched()
		}
		for i := range 10_000 {
			if code := get(h, "/?tenant=noisy").Code; code != 429 {
				t.Fatalf("noisy: %d, want 429", code)
			}
			if i%100 == 0 {
				if code := get(h, "/?tenant=other").Code; code != 200 {
					t.Fatalf("other: %d, want 200", code)
				}
			}
		}
		close(free)
		noisy.Wait()
	})
	t.Run("a classifier that panics", func(t *testing.T) {
		n := 0
		h := httpmw.New(control(t, capped(1, 1)), httpmw.Config{Classify: func(*http.Request) admission.Request {
			if n++; n%2 == 0 {
				panic("classifier")
			}
			return admission.Request{Tenant: "acme"}
		}})(answering(204))
		for i := range 1000 {
			func() {
				defer func() {
					if p := recover(); (p != nil) != (i%2 == 1) {
						t.Fatalf("request %d: %v came out", i, p)
					}
				}()
				if code := get(h, "/").Code; code != 204 {
					t.Errorf("request %d: %d", i, code)
				}
			}()
		}
	})
	t.Run("a client that is gone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var leaving context.CancelFunc
			s := &spy{}
			s.Verdict = func(r *admission.Request) error {
				if r.Tenant == "in-stage" {
					leaving()
				}
				return nil
			}
			ctrl := control(t, capped(1, 9), watched(s))
			h := httpmw.New(ctrl, byTenant)(answering(204))
			ticket := hold(t, ctrl)
			for _, at := range []string{"before", "in-stage", "in-queue"} {
				ctx, cancel := context.WithCancel(context.Background())
				leaving = cancel
				switch at {
				case "before":
					cancel()
				case "in-queue":
					time.AfterFunc(time.Second, cancel)
				}
				w := httptest.NewRecorder()
				w.Code = 0
				h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/?tenant="+at, nil))
				if w.Code != 0 || w.Body.Len() > 0 {
					t.Errorf("%s: answered %d %s", at, w.Code, w.Body)
				}
			}
			if n := counts(ctrl).Left; n != 3 {
				t.Errorf("%d left, want 3", n)
			}
			ticket.Release(admission.Ignore)
		})
	})
}

// On HTTP/1 a client that goes while its body is unread is not noticed, so its
// wait ends by the queue's allowance; everywhere else it ends at once.
func TestClientThatLeavesTheQueue(t *testing.T) {
	for _, c := range []struct {
		name  string
		http2 bool
		body  func() io.Reader
		left  uint64 // of 1, half a second after it went
	}{
		{"HTTP/1, no body", false, func() io.Reader { return nil }, 1},
		{"HTTP/2, no body", true, func() io.Reader { return nil }, 1},
		{"HTTP/2, body unread", true, func() io.Reader { return strings.NewReader("body") }, 1},
		{"HTTP/1, body unread", false, func() io.Reader { return strings.NewReader("body") }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lane := pinned(1, 1)
				lane.Deadline = 6 * time.Second // a third of it may be waited
				ctrl := control(t, only(lane))
				ticket := hold(t, ctrl)
				_, client := serveInBubble(t, httpmw.Wrap(ctrl, answering(204)), c.http2)
				ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, "POST", "http://test/", c.body())
				if resp, err := client.Do(req); err == nil {
					t.Fatalf("answered %d", resp.StatusCode)
				}
				time.Sleep(500 * time.Millisecond)
				if n := counts(ctrl).Left; n != c.left {
					t.Errorf("%d left, want %d", n, c.left)
				}
				time.Sleep(3 * time.Second)
				if n := counts(ctrl); n.Left+n.Shed[admission.ReasonQueueTimeout] != 1 {
					t.Errorf("the wait has not ended: %s", fmt.Sprintf("%+v", n))
				}
				ticket.Release(admission.Ignore)
			})
		})
	}
}
