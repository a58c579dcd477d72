package load

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func ok(http.ResponseWriter, *http.Request) {}

// Arrivals are a Poisson process given their number: as many in each slice as the rate says, as far apart from each other as
// chance makes them.
func TestArrivalsArePoisson(t *testing.T) {
	var mu sync.Mutex
	var at []time.Time
	h := func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		at = append(at, time.Now())
	}
	bubble(t, h, func(t *testing.T, c *Client) {
		const rate, seconds, slice = 50, 99, 500 * time.Millisecond
		start := time.Now()
		res := mustRun(t, c, Config{Mix: oneClass(t), Rate: rate, Duration: seconds * time.Second, Slice: slice, Deadline: time.Second, Seed: 7})
		if res.Good != res.Offered || len(at) != res.Offered {
			t.Errorf("an idle service answered %d of %d, saw %d", res.Good, res.Offered, len(at))
		}
		perSlice := make([]int, seconds*time.Second/slice)
		for _, t := range at {
			perSlice[t.Sub(start)/slice]++
		}
		if least, most := slices.Min(perSlice), slices.Max(perSlice); least != 25 || most != 25 {
			t.Errorf("slices of half a second have %d to %d requests of %d a second", least, most, rate)
		}
		var sum, squares float64
		for i := range len(at) - 1 {
			gap := at[i+1].Sub(at[i]).Seconds()
			sum, squares = sum+gap, squares+gap*gap
		}
		n := float64(len(at) - 1)
		near(t, "gaps' coefficient of variation", math.Sqrt(squares/n-sum/n*sum/n)/(sum/n), 1, 0.05)
	})
}

// The open loop: a service that answers nothing gets its requests when they are due all the same.
func TestStalledServiceDoesNotSlowSending(t *testing.T) {
	arrivals := func(h http.HandlerFunc) (at []time.Duration, res Result) {
		var mu sync.Mutex
		bubble(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			at = append(at, time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)))
			mu.Unlock()
			h(w, r)
		}, func(t *testing.T, c *Client) {
			res = mustRun(t, c, Config{Mix: oneClass(t), Rate: 100, Duration: 5 * time.Second, Deadline: 2 * time.Second, Seed: 3})
		})
		return at, res
	}
	healthy, res := arrivals(ok)
	if res.Good != res.Offered {
		t.Errorf("healthy service: %d good of %d", res.Good, res.Offered)
	}
	stalled, res := arrivals(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if res.Good != 0 || res.Failures["given up"] != res.Offered {
		t.Errorf("stalled service: %d good, failures %v, of %d", res.Good, res.Failures, res.Offered)
	}
	if !slices.Equal(healthy, stalled) {
		t.Errorf("the stalled service saw %d requests at other times than the healthy one its %d", len(stalled), len(healthy))
	}
	if p50 := res.Admitted.Quantile(0.5); p50 < 2*time.Second || p50 > 2100*time.Millisecond {
		t.Errorf("requests that were given up after 2s count with a latency of %v", p50)
	}
}

// Latency against the theory: one worker, fixed service time, Poisson arrivals (M/D/1) wait for rho s/(2 (1-rho))
// on average. A closed loop, or latency from the actual sending, measures far less.
func TestLatencyOfKnownQueue(t *testing.T) {
	const service, rho = 10 * time.Millisecond, 0.8
	bubble(t, workers(1, service), func(t *testing.T, c *Client) {
		res := mustRun(t, c, Config{
			Mix: oneClass(t), Rate: rho / service.Seconds(), WarmUp: 10 * time.Second, Duration: 200 * time.Second, Deadline: 10 * time.Second, Seed: 5,
		})
		wait := rho * service.Seconds() / (2 * (1 - rho))
		near(t, "mean latency in ms", res.Admitted.h.Mean()/1000, (service.Seconds()+wait)*1000, 0.1)
		if lag := res.Lag.Quantile(1); lag > time.Millisecond {
			t.Errorf("lag %v where time stands still while we work", lag)
		}
	})
}

// A generator that is late does not make the service look fast: latency and deadline count from when a request
// was due.
func TestLateGeneratorIsSeen(t *testing.T) {
	bubble(t, ok, func(t *testing.T, c *Client) {
		slow := oneClass(t)
		make := slow.classes[0].Make
		slow.classes[0].Make = func(r *randRand) Request { time.Sleep(30 * time.Millisecond); return make(r) }
		res := mustRun(t, c, Config{Mix: slow, Rate: 100, Duration: time.Second, Deadline: 500 * time.Millisecond, Seed: 5})
		if lag := res.Lag.Quantile(0.99); lag < time.Second {
			t.Errorf("sending 100/s at 33/s lags by %v only", lag)
		}
		if p99 := res.Admitted.Quantile(0.99); p99 < 400*time.Millisecond {
			t.Errorf("p99 is %v, but the requests were sent up to two seconds after they were due", p99)
		}
		if res.Good == res.Offered {
			t.Error("all requests are good, but most were sent after their deadline")
		}
	})
}

func TestWarmUpIsSentAndNotCounted(t *testing.T) {
	var seen atomic.Int64
	bubble(t, func(http.ResponseWriter, *http.Request) { seen.Add(1) }, func(t *testing.T, c *Client) {
		res := mustRun(t, c, Config{Mix: oneClass(t), Rate: 100, WarmUp: 30 * time.Second, Duration: 10 * time.Second, Deadline: time.Second, Seed: 1})
		near(t, "requests seen", float64(seen.Load()), 4000, 0.06)
		near(t, "requests counted", float64(res.Offered), 1000, 0.1)
		if res.Duration != 10*time.Second {
			t.Errorf("duration %v, want 10s", res.Duration)
		}
	})
}

func TestOverloadOfPlainQueue(t *testing.T) {
	bubble(t, workers(1, 10*time.Millisecond), func(t *testing.T, c *Client) {
		res := mustRun(t, c, Config{Mix: oneClass(t), Rate: 200, WarmUp: 5 * time.Second, Duration: 10 * time.Second, Deadline: 300 * time.Millisecond, Seed: 1})
		// Goodput cannot exceed what the worker can do, and the rest cannot have been shed.
		if rps := float64(res.Good) / res.Duration.Seconds(); rps > 100 {
			t.Errorf("goodput %v/s from a worker that can do 100/s", rps)
		}
		if res.Shed != 0 || res.Failed < res.Offered/2 {
			t.Errorf("shed %d, failed %d of %d; want 0 and most", res.Shed, res.Failed, res.Offered)
		}
	})
}

func TestDeadTargetEndsTheRun(t *testing.T) {
	var dead atomic.Bool
	bubble(t, ok, func(t *testing.T, c *Client) {
		dial := httpOf(c).DialContext
		httpOf(c).DisableKeepAlives = true
		httpOf(c).DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dead.Load() {
				return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
			}
			return dial(ctx, network, addr)
		}
		time.AfterFunc(2*time.Second, func() { dead.Store(true) })
		start := time.Now()
		slices, err := Run(t.Context(), c, Config{Mix: oneClass(t), Rate: 100, Duration: time.Hour, Deadline: time.Second, Seed: 1})
		if !errors.Is(err, ErrDead) {
			t.Fatalf("error %v, want ErrDead", err)
		}
		res := slices.Merge(nil)
		near(t, "seconds until the run ended", time.Since(start).Seconds(), 2.2, 0.1)
		near(t, "good before that", float64(res.Good), 200, 0.2)
		if res.Failures["connection"] != deadAfter {
			t.Errorf("failures %v, want %d connections", res.Failures, deadAfter)
		}
		_, err = Run(t.Context(), c, Config{Mix: oneClass(t), Rate: 10, Duration: time.Second, Deadline: time.Second, Seed: 1})
		if !errors.Is(err, ErrDead) {
			t.Errorf("a short run against nobody: error %v, want ErrDead", err)
		}
	})
}

func TestCancelKeepsWhatWasMeasured(t *testing.T) {
	bubble(t, workers(10, 100*time.Millisecond), func(t *testing.T, c *Client) {
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(3*time.Second, func() { cancel(why) })
		slices, err := Run(ctx, c, Config{Mix: oneClass(t), Rate: 50, Duration: time.Hour, Deadline: time.Second, Seed: 1})
		if !errors.Is(err, why) {
			t.Errorf("error %v, want the cause of the cancellation", err)
		}
		res := slices.Merge(nil)
		near(t, "good", float64(res.Good), 150, 0.2)
		if res.Failed != 0 || res.Offered != res.Good {
			t.Errorf("%d failed of %d; requests under way when the run was stopped are not to be counted", res.Failed, res.Offered)
		}
		near(t, "seconds", res.Duration.Seconds(), 3, 0.1)
	})
}

// A target that swallows everything costs the generator a bounded number of goroutines, and the excess is told.
func TestOutstandingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := NewClient("http://service.test")
		if err != nil {
			t.Fatal(err)
		}
		httpOf(c).DialContext = func(context.Context, string, string) (net.Conn, error) {
			time.Sleep(2 * time.Second) // the transport does not end a dial with the request that began it
			return nil, syscall.ETIMEDOUT
		}
		res := mustRun(t, c, Config{Mix: oneClass(t), Rate: 3 * maxOutstanding, Duration: 500 * time.Millisecond, Deadline: time.Second, Seed: 1})
		if given := res.Failures["given up"]; given != maxOutstanding || res.Failures["not sent"] != res.Offered-maxOutstanding {
			t.Errorf("failures %v of %d, want %d given up and the rest not sent", res.Failures, res.Offered, maxOutstanding)
		}
		time.Sleep(2 * time.Second)
	})
}

func TestRequestsAreWhatTheClassSays(t *testing.T) {
	var got *http.Request
	var body []byte
	bubble(t, func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	}, func(t *testing.T, c *Client) {
		req := Request{Method: "POST", Path: "/a%2Fb?q=1%20x", Body: `{"x":1}`, Tenant: "acme", Header: map[string]string{"X-More": "yes"}}
		m, err := NewMix(Class{Name: "x", Weight: 1, Tier: "t2", Make: func(*randRand) Request { return req }})
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(t.Context(), c, m, 250*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		for header, want := range map[string]string{TenantHeader: "acme", "X-More": "yes", "Content-Type": "application/json", DeadlineHeader: "250ms"} {
			if v := got.Header.Get(header); v != want {
				t.Errorf("%s: %q, want %q", header, v, want)
			}
		}
		if got.Method != "POST" || got.RequestURI != "/a%2Fb?q=1%20x" || string(body) != req.Body {
			t.Errorf("got %s %s %s", got.Method, got.RequestURI, body)
		}
	})
}

func TestConfigErrors(t *testing.T) {
	c, err := NewClient("http://service.test")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(t.Context(), c, Config{Rate: math.NaN(), WarmUp: -1, Slice: -1})
	wantErrors(t, err, "mix: nil", "rate is NaN", "warm-up is -1ns", "duration is 0s", "deadline is 0s", "slice is -1ns")
	_, err = Run(t.Context(), c, Config{Mix: oneClass(t), Rate: 1, Duration: time.Second, Slice: time.Second / maxSlices, Deadline: time.Second})
	wantErrors(t, err, "slice is 5ms, must be zero or more than 1/200 of the duration")
	for _, target := range []string{"", "service.test", "ftp://x", "http://", "http://x/?q=1", "http://x/#f", "http://%", "grpc://x", "grpc://x:1/path"} {
		if _, err := NewClient(target); err == nil {
			t.Errorf("target %q: no error", target)
		}
	}
}
