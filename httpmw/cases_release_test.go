package httpmw_test

import (
	"errors"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
)

// B04: a slot is free when the work is over, not when somebody stopped waiting
// for it. With http.TimeoutHandler outside the limit holds, with it inside it
// does not, which is what the package comment warns of.
func TestTimeoutReleasesNoSlotWhileTheWorkGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		wrap   func(ctrl *admission.Controller, h http.Handler) http.Handler
		most   int
		within time.Duration // answered
	}{
		"outside, the safe order": {func(ctrl *admission.Controller, h http.Handler) http.Handler {
			return http.TimeoutHandler(httpmw.Wrap(ctrl, h), 50*time.Millisecond, "late")
		}, 2, 50 * time.Millisecond},
		"inside": {func(ctrl *admission.Controller, h http.Handler) http.Handler {
			return httpmw.Wrap(ctrl, http.TimeoutHandler(h, 50*time.Millisecond, "late"))
		}, 4, 250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, running := &spy{}, &gauge{}
				h := c.wrap(control(t, only(pinned(2, 4)), watched(s)), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
					running.Enter()
					defer running.Leave()
					time.Sleep(300 * time.Millisecond) // deaf to its context
				}))
				var clients sync.WaitGroup
				for _, at := range []time.Duration{0, 100 * time.Millisecond} {
					for range 10 {
						clients.Go(func() {
							time.Sleep(at)
							start := time.Now()
							if code := get(h, "/").Code; code != 503 || time.Since(start) > c.within {
								t.Errorf("%d after %v", code, time.Since(start))
							}
						})
					}
				}
				clients.Wait()
				time.Sleep(time.Second)
				if got := running.Most(); got < c.most || c.most == 2 && got > 2 {
					t.Errorf("%d ran at once, want %d", got, c.most)
				}
				if s.Count(admission.Success) != 0 || s.Count(admission.Overload) < 2 {
					t.Errorf("outcomes %v: a request that timed out is no sample", s.Outcomes())
				}
			})
		})
	}
}

// nowhere is a map that cannot be written to.
func nowhere() map[int]int { return nil }

// B06: however a handler ends, its slot comes back once, and what it panicked
// with reaches the layer outside untouched.
func TestEveryEndOfAHandlerGivesTheSlotBack(t *testing.T) {
	own := errors.New("own")
	ends := map[string]struct {
		end  func()
		want func(p any) bool
	}{
		"panic":        {func() { panic(own) }, func(p any) bool { return p == own }},
		"abort":        {func() { panic(http.ErrAbortHandler) }, func(p any) bool { return p == http.ErrAbortHandler }},
		"nil map":      {func() { nowhere()[0] = 1 }, func(p any) bool { _, ok := p.(runtime.Error); return ok }},
		"panic of nil": {func() { panic(nil) }, func(p any) bool { _, ok := p.(*runtime.PanicNilError); return ok }},
		"goexit":       {runtime.Goexit, func(p any) bool { return p == nil }},
	}
	for name, e := range ends {
		t.Run(name, func(t *testing.T) {
			const n = 1000
			failing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { e.end() })
			var passed any
			recovering := func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					defer func() {
						if passed = recover(); passed != nil {
							w.WriteHeader(500)
						}
					}()
					h.ServeHTTP(w, r)
				})
			}
			for place, wrap := range map[string]func(*admission.Controller) http.Handler{
				"outside": func(c *admission.Controller) http.Handler { return recovering(httpmw.Wrap(c, failing)) },
				"inside":  func(c *admission.Controller) http.Handler { return httpmw.Wrap(c, recovering(failing)) },
			} {
				s := &spy{}
				h := wrap(control(t, only(pinned(3, 1)), watched(s)))
				for range n {
					done := make(chan struct{})
					go func() { // its own, for Goexit
						defer close(done)
						get(h, "/")
					}()
					<-done
					if !e.want(passed) {
						t.Fatalf("recovery %s: %v came out", place, passed)
					}
				}
				if s.Count(admission.Failure) != n || len(s.Outcomes()) != 1 {
					t.Errorf("recovery %s: outcomes %v, want %d failures", place, s.Outcomes(), n)
				}
			}
			for proto, http2 := range protocols {
				s := &spy{}
				srv, client := serve(t, httpmw.Wrap(control(t, only(pinned(3, 1)), watched(s)), failing), http2)
				if name == "goexit" && http2 {
					continue // the server itself never ends such a stream
				}
				for range 20 {
					if resp, err := client.Get(srv.URL); err == nil {
						t.Fatalf("%s: %d", proto, resp.StatusCode)
					}
				}
				// The client asks again by itself when a kept connection fails.
				if n := s.Count(admission.Failure); n < 20 || len(s.Outcomes()) != 1 {
					t.Errorf("%s, recovery of the server: outcomes %v", proto, s.Outcomes())
				}
			}
		})
	}
}
