package httpmw_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
	"github.com/spillway-go/spillway/scorecard"
)

// B11: probes get through whatever the state, and nothing passes for one.
func TestProbesPassWhenAllElseIsShed(t *testing.T) {
	var all atomic.Bool
	ctrl := control(t, only(pinned(1, 1)), watched(&spy{Verdict: func(*admission.Request) error {
		if !all.Load() {
			return nil
		}
		return &admission.ShedError{Reason: admission.ReasonRegulator}
	}}))
	ticket := hold(t, ctrl)
	leave := fill(t, ctrl, 1)
	arrived := counts(ctrl).Arrived
	all.Store(true)
	mux := http.NewServeMux()
	mux.Handle("/", answering(200))
	h := httpmw.Wrap(ctrl, mux)
	for _, path := range []string{"/healthz", "/readyz"} {
		for range 100 {
			if code := get(h, path).Code; code != 200 {
				t.Fatalf("%s: %d", path, code)
			}
		}
	}
	if stats := ctrl.Stats(); stats.Exempt != 200 || counts(ctrl).Arrived != arrived {
		t.Errorf("%d exempt, %d decided on, want 200 and none", stats.Exempt, counts(ctrl).Arrived-arrived)
	}
	for _, odd := range [][2]string{
		{"GET", "/healthzx"},
		{"GET", "//healthz"},
		{"GET", "/healthz/../work"},
		{"GET", "/work?p=/healthz"},
		{"POST", "/healthz"},
		{"GET", "/debug/../work"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(odd[0], odd[1], nil))
		if w.Code != 503 {
			t.Errorf("%s %s: %d, want 503", odd[0], odd[1], w.Code)
		}
	}
	leave()
	ticket.Release(admission.Ignore)
	_ = ctrl.Close()
	if code := get(h, "/readyz").Code; code != 200 {
		t.Errorf("after Close: %d", code)
	}
}

// B22: a shed request is not served, gets one answer, and costs the connection
// nothing; a controller that limits nothing sheds nobody.
func TestShedIsNotServed(t *testing.T) {
	for name, http2 := range protocols {
		t.Run(name, func(t *testing.T) {
			ctrl := control(t, only(pinned(1, 1)))
			var served atomic.Int64
			srv, client := serve(t, httpmw.Wrap(ctrl, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				served.Add(1)
			})), http2)
			ticket := hold(t, ctrl)
			leave := fill(t, ctrl, 1)
			opened := 0 // connections
			trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
				if !i.Reused {
					opened++
				}
			}}
			ask := func() int {
				req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, srv.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := client.Do(req)
				code, _ := drain(t, resp, err)
				return code
			}
			for range 100 {
				if code := ask(); code != 503 {
					t.Fatalf("%d, want 503", code)
				}
			}
			if n := served.Load(); n != 0 {
				t.Errorf("%d shed requests were served", n)
			}
			leave()
			ticket.Release(admission.Ignore)
			if code := ask(); code != 200 || served.Load() != 1 || opened != 1 {
				t.Errorf("with the slot free: %d, served %d times, on the last of %d connections", code, served.Load(), opened)
			}
		})
	}
	for name, ctrl := range map[string]*admission.Controller{
		"off":       control(t, admission.Config{Mode: admission.Off, Lanes: only(pinned(1, 1)).Lanes}),
		"shadow":    control(t, admission.Config{Mode: admission.Shadow, Lanes: only(pinned(1, 1)).Lanes}),
		"unlimited": control(t, only(pinned(1_000_000, 1))),
		"nil":       nil,
	} {
		t.Run(name, func(t *testing.T) {
			var all sync.WaitGroup
			together, free := make(chan struct{}, 100), make(chan struct{})
			h := httpmw.Wrap(ctrl, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				together <- struct{}{}
				<-free
			}))
			for range 100 {
				all.Go(func() {
					if code := get(h, "/").Code; code != 200 {
						t.Errorf("%d", code)
					}
				})
			}
			for range 100 {
				<-together
			}
			close(free)
			all.Wait()
		})
	}
}

// B26: who is refused can tell why from the status, and when to come back from
// a whole number of seconds that is not the same for all.
func TestRefusalsSayWhenToComeBack(t *testing.T) {
	cfg := only(pinned(1, 1))
	cfg.Scorecard.Rules = []scorecard.Rule{{Name: "forbidden", Match: "tenant:forbidden"}}
	ctrl := control(t, cfg)
	h := httpmw.New(ctrl, httpmw.Config{Classify: func(r *http.Request) admission.Request {
		return admission.Request{Tenant: r.URL.Query().Get("tenant")}
	}})(answering(200))
	defer hold(t, ctrl).Release(admission.Ignore)
	defer fill(t, ctrl, 1)()
	for path, want := range map[string]int{"/": 503, "/?tenant=forbidden": 429} {
		hints := map[int]int{}
		for range 1000 {
			w := get(h, path)
			if w.Code != want {
				t.Fatalf("%s: %d, want %d", path, w.Code, want)
			}
			hints[delay(t, w)]++
		}
		least, most := 1<<30, 0
		for d, n := range hints {
			least, most = min(least, d), max(most, d)
			if n > 900 {
				t.Errorf("%s: %d of 1000 are told %d s", path, n, d)
			}
		}
		if float64(most) < 1.5*float64(least) {
			t.Errorf("%s: hints %v are not spread", path, hints)
		}
	}
	for _, path := range []string{"/", "/?tenant=forbidden"} {
		h := httpmw.New(ctrl, httpmw.Config{Classify: func(r *http.Request) admission.Request {
			return admission.Request{Tenant: r.URL.Query().Get("tenant"), Attempt: 1}
		}})(answering(200))
		if got := get(h, path).Header().Get("Retry-After"); got != "" {
			t.Errorf("a retry of %s is told to come again in %s s", path, got)
		}
	}
}

func delay(t *testing.T, w *httptest.ResponseRecorder) int {
	t.Helper()
	d, err := strconv.Atoi(w.Header().Get("Retry-After"))
	if err != nil || d < 1 {
		t.Fatalf("Retry-After is %q", w.Header().Get("Retry-After"))
	}
	return d
}

// B26: clients that obey the hint do not come back all at once.
func TestObedientClientsComeBackSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		const over = 5 * time.Second
		shed := shedding(&admission.ShedError{Reason: admission.ReasonRegulator})
		h := httpmw.Wrap(control(t, admission.Config{}, watched(&spy{Verdict: func(r *admission.Request) error {
			if time.Since(start) < over {
				return shed(r)
			}
			return nil
		}})), answering(200))
		rng := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		arrivals := map[int]int{} // per 100 ms after the overload
		var clients sync.WaitGroup
		for range 1000 {
			first := time.Duration(rng.Int64N(int64(time.Second)))
			clients.Go(func() {
				time.Sleep(first)
				for {
					if since := time.Since(start); since >= over {
						mu.Lock()
						arrivals[int((since-over)/(100*time.Millisecond))]++
						mu.Unlock()
					}
					w := get(h, "/")
					if w.Code == 200 {
						return
					}
					time.Sleep(time.Duration(delay(t, w)) * time.Second)
				}
			})
		}
		clients.Wait()
		sum, most, last := 0, 0, 0
		for at, n := range arrivals {
			sum, most, last = sum+n, max(most, n), max(last, at)
		}
		mean := float64(sum) / float64(last+1)
		t.Logf("up to %d arrivals in 100 ms at a mean of %.0f", most, mean)
		if float64(most) > 3*mean {
			t.Errorf("up to %d arrivals in 100 ms at a mean of %.0f", most, mean)
		}
	})
}

// B40: Close sends those who wait away with a reason of its own, and lets those
// who run finish; the server's own Shutdown then ends.
func TestCloseAnswersThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctrl := control(t, only(pinned(1, 50)))
		free := make(chan struct{})
		srv, client := serveInBubble(t, httpmw.Wrap(ctrl, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			<-free
			w.WriteHeader(204)
		})), false)
		codes := make(chan int, 1)
		go func() {
			resp, err := client.Get("http://test/")
			code, _ := drain(t, resp, err)
			codes <- code
		}()
		synctest.Wait()
		var refused sync.WaitGroup
		start := time.Now()
		ask := func() {
			resp, err := client.Get("http://test/")
			if code, body := drain(t, resp, err); code != 503 || body != `{"title":"Service Unavailable","status":503,"reason":"closed"}` {
				t.Errorf("%d %s", code, body)
			}
			if took := time.Since(start); took > 100*time.Millisecond {
				t.Errorf("after %v", took)
			}
		}
		for range 50 {
			refused.Go(ask)
		}
		synctest.Wait()
		if err := ctrl.Close(); err != nil {
			t.Error(err)
		}
		for range 10 {
			refused.Go(ask)
		}
		refused.Wait()
		if n := counts(ctrl).Shed[admission.ReasonClosed]; n != 60 {
			t.Errorf("%d shed as closed, want 60", n)
		}
		stopped := make(chan error, 1)
		go func() { stopped <- srv.Shutdown(context.Background()) }()
		synctest.Wait()
		close(free)
		if code := <-codes; code != 204 {
			t.Errorf("who ran got %d", code)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if err := ctrl.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	})
}
