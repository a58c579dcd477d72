package httpmw_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
)

// tuned is a lane whose limit finds itself from n on.
func tuned(n int) admission.Config {
	return only(admission.LaneConfig{Limit: admission.LimitConfig{Initial: n}})
}

// working takes d and heeds its context.
func working(d time.Duration, late int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
			w.WriteHeader(late)
		}
	}
}

// B19: streams neither starve short requests nor pass for slow ones, and leave
// nothing behind however they end.
func TestStreamsBesideShortRequests(t *testing.T) {
	for name, c := range map[string]struct {
		lane  string
		begin int // of 6 at once
	}{
		"slot given back when they begin": {"", 6},
		"in a lane of their own":          {"streams", 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := tuned(5)
				cfg.Lanes["streams"] = admission.LaneConfig{Limit: admission.LimitConfig{Fixed: 5}, Gate: admission.GateConfig{Law: "off"}}
				ctrl := control(t, cfg)
				mux := http.NewServeMux()
				mux.Handle("/short", working(5*time.Millisecond, 504))
				mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
					events(50).ServeHTTP(w, r) // 5 s
					if r.URL.RawQuery == "panic" {
						panic(http.ErrAbortHandler)
					}
				})
				h := httpmw.New(ctrl, httpmw.Config{StreamLane: c.lane})(mux)
				var streams sync.WaitGroup
				var refused atomic.Int64
				open := func(query string, life time.Duration) {
					streams.Go(func() {
						defer func() { _ = recover() }()
						ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
						if life > 0 {
							ctx, cancel = context.WithCancel(context.Background())
							time.AfterFunc(life, cancel)
						}
						defer cancel()
						r := httptest.NewRequestWithContext(ctx, "GET", "/events"+query, nil)
						r.Header.Set("Accept", "text/event-stream")
						w := httptest.NewRecorder()
						h.ServeHTTP(w, r)
						if w.Code == 503 {
							refused.Add(1)
						}
					})
				}
				for _, life := range []time.Duration{0, 0, 2 * time.Second, 3 * time.Second} {
					open("", life)
				}
				open("?panic", 0)
				ok, all := 0, 0
				for range 300 { // 6 s of them
					time.Sleep(20 * time.Millisecond)
					if all++; get(h, "/short").Code == 200 {
						ok++
					}
				}
				streams.Wait()
				t.Logf("%d of %d short requests served", ok, all)
				if ok*100 < all*99 || refused.Load() > 0 {
					t.Errorf("%d of %d short requests and all but %d streams served", ok, all, refused.Load())
				}
				l, _ := ctrl.Stats().Lane("default")
				if n := l.Service.Total(); n != uint64(ok) || l.Median > 10*time.Millisecond {
					t.Errorf("%d samples, median %v: want the %d short requests and nothing else", n, l.Median, ok)
				}
				for _, l := range ctrl.Stats().Lanes {
					if l.Inflight != 0 {
						t.Errorf("lane %s: inflight %d after the streams", l.Name, l.Inflight)
					}
				}
				for range 6 {
					open("", time.Second)
				}
				streams.Wait()
				if n := 6 - int(refused.Load()); n != c.begin {
					t.Errorf("%d of 6 streams begin, want %d", n, c.begin)
				}
			})
		})
	}
}

// closedLoop has n callers ask over and over for a time.
func closedLoop(h http.Handler, n int, dur time.Duration, request func(caller, i int) (*http.Request, context.CancelFunc)) {
	var callers sync.WaitGroup
	start := time.Now()
	for c := range n {
		callers.Go(func() {
			for i := 0; time.Since(start) < dur; i++ {
				r, cancel := request(c, i)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				cancel()
				if w.Code == 503 {
					time.Sleep(5 * time.Millisecond)
				}
			}
		})
	}
	callers.Wait()
}

// B32: clients that leave do not move the limit; a server that is too slow for
// its clients' deadlines does.
func TestClientsThatLeaveDoNotMoveTheLimit(t *testing.T) {
	limit := func(t *testing.T, h http.HandlerFunc, ask func(caller, i int) (*http.Request, context.CancelFunc)) (l admission.LaneStats, median int) {
		synctest.Test(t, func(t *testing.T) {
			ctrl := control(t, tuned(40))
			mw := httpmw.New(ctrl, httpmw.Config{Headers: httpmw.Headers{Deadlines: []string{"X-Request-Timeout"}}})
			var limits []int
			var looks sync.WaitGroup
			looks.Go(func() { // a single look may fall into a probe, which halves the limit
				time.Sleep(4 * time.Second)
				for range 16 {
					time.Sleep(time.Second / 4)
					l, _ = ctrl.Stats().Lane("default")
					limits = append(limits, l.Limit)
				}
			})
			closedLoop(mw(h), 40, 8*time.Second, ask)
			looks.Wait()
			slices.Sort(limits)
			median = limits[len(limits)/2]
		})
		return l, median
	}
	plain := func(_, _ int) (*http.Request, context.CancelFunc) {
		return httptest.NewRequest("GET", "/", nil), func() {}
	}
	leaving := func(_, i int) (*http.Request, context.CancelFunc) {
		ctx, cancel := context.WithCancel(context.Background())
		if i%2 == 1 {
			time.AfterFunc(5*time.Millisecond, cancel)
		}
		return httptest.NewRequestWithContext(ctx, "GET", "/", nil), cancel
	}
	deadlines := func(_, _ int) (*http.Request, context.CancelFunc) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("X-Request-Timeout", "100ms")
		return r, func() {}
	}
	_, a := limit(t, working(20*time.Millisecond, 499), plain)
	l, b := limit(t, working(20*time.Millisecond, 499), leaving)
	_, c := limit(t, working(500*time.Millisecond, 500), deadlines)
	t.Logf("median limits: %d, %d with clients that leave, %d where every deadline expires; baseline %v", a, b, c, l.Baseline)
	if b*10 < a*9 || b*10 > a*11 {
		t.Errorf("limit is %d with clients that leave, %d without", b, a)
	}
	if l.Baseline < 18*time.Millisecond {
		t.Errorf("baseline is %v: those who left after 5 ms are in it", l.Baseline)
	}
	if c > 20 {
		t.Errorf("limit is %d where every deadline expires, want it well below the 40 it began with", c)
	}
}

// B05: a retry storm is over when its cause is, and while it lasts some requests
// get through and show the error behind it.
func TestRetryStormEndsWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctrl := control(t, only(admission.LaneConfig{Limit: admission.LimitConfig{Initial: 20}}))
		start := time.Now()
		phase := func() int { return int(time.Since(start) / (10 * time.Second)) } // 0 well, 1 ill, 2 and 3 well
		h := httpmw.Wrap(ctrl, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if phase() == 1 {
				working(100*time.Millisecond, 504)(w, r)
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			working(20*time.Millisecond, 504)(w, r)
		}))
		var good, shed, own [40]atomic.Int64 // per second
		rng := rand.New(rand.NewPCG(3, 4))
		var clients sync.WaitGroup
		for range 500 {
			first := time.Duration(rng.Int64N(int64(time.Second)))
			clients.Go(func() {
				time.Sleep(first)
				for time.Since(start) < 40*time.Second {
					sec := min(int(time.Since(start)/time.Second), 39)
					ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
					w := httptest.NewRecorder()
					h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
					cancel()
					switch w.Code {
					case 200:
						good[sec].Add(1)
						time.Sleep(time.Second)
						continue
					case 500:
						own[sec].Add(1)
					case 503:
						shed[sec].Add(1)
					}
					time.Sleep(50 * time.Millisecond)
				}
			})
		}
		clients.Wait()
		sum := func(of *[40]atomic.Int64, from, to int) (n int64) {
			for i := from; i < to; i++ {
				n += of[i].Load()
			}
			return n
		}
		before, after := sum(&good, 5, 10), sum(&good, 34, 39)
		t.Logf("good in 5 s: %d before, %d after; %d shed then", before, after, sum(&shed, 34, 39))
		if after*100 < before*95 || sum(&shed, 34, 39)*100 > after {
			t.Errorf("goodput in 5 s is %d before and %d after, with %d shed", before, after, sum(&shed, 34, 39))
		}
		least := own[10].Load()
		for sec := 10; sec < 20; sec++ {
			n := own[sec].Load()
			if least = min(least, n); n < 20 {
				t.Errorf("second %d: %d answers show the error, want 20", sec, n)
			}
		}
		t.Logf("at least %d answers show the error in each second", least)
		if n := counts(ctrl); n.Outcomes[admission.Failure] == 0 || total(n.Shed[:]) == 0 {
			t.Errorf("failures and sheds are not told apart: %+v", n)
		}
	})
}
