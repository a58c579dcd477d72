package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// The leader and the follower are this very executable; in tests that is the test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "leader" || os.Args[1] == "follower") {
		main()
	}
	os.Exit(m.Run())
}

// A comparison in small: one rate, one round, a second each, on real processes.
func TestCompare(t *testing.T) {
	t.Setenv("GORACE", "atexit_sleep_ms=0") // six processes end
	o, err := parseOptions([]string{
		"-compare", "-json", "-rate", "300", "-reads", "20", "-pace", "200", "-lag-bound", "100",
		"-cycle", "1500ms", "-deadline", "1s", "-out", t.TempDir(), "-hot", "-bulk",
	}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	o.warmUp, o.shares, o.rounds = 500*time.Millisecond, []float64{0.25}, 1
	var stdout bytes.Buffer
	if err := compare(t.Context(), o, &stdout, t.Output()); err != nil {
		t.Fatal(err)
	}
	var res result
	if err := json.Unmarshal(stdout.Bytes(), &res); err != nil {
		t.Fatal(err)
	}
	if res.BucketRate != 50 || len(res.Arms) != 2 || res.Arms[0].Name != armBucket || res.Arms[1].Name != armSpillway {
		t.Fatalf("bucket at %v, arms %v", res.BucketRate, res.Arms)
	}
	for _, a := range res.Arms {
		t.Logf("%s: %.0f/s served, %.0f writes/s, %d looks at the lag, up to %d", a.Name, a.ServedRPS, a.WritesRPS, len(a.Lag), a.LagPeak)
		if a.ServedRPS <= a.WritesRPS || a.WritesRPS <= 0 || a.GoroutinesPeak == 0 || a.HeapPeakBytes == 0 || len(a.Tiers) != 6 || len(a.Lag) < 10 {
			t.Errorf("arm %+v", a)
		}
	}
	if served := res.Arms[0].WritesRPS; served > 75 {
		t.Errorf("%.0f writes/s through a bucket of 50", served)
	}
	if svg, err := os.ReadFile(filepath.Join(o.out, "docstore.svg")); err != nil || !bytes.Contains(svg, []byte(armSpillway)) {
		t.Errorf("picture of %d bytes, %v", len(svg), err)
	}
	var text strings.Builder
	if err := res.writeText(&text); err != nil || !strings.Contains(text.String(), "writes of t5 shed") {
		t.Errorf("text %q, %v", text.String(), err)
	}
}

func TestBestRate(t *testing.T) {
	r := result{LagBound: 100, Swept: []swept{{300, 300, 20}, {400, 390, 100}, {500, 480, 101}, {600, 350, 50}}}
	if best, err := r.best(); best != 400 || err != nil {
		t.Errorf("best %v, %v; want the one that serves most within the bound, 400", best, err)
	}
	r.LagBound = 10
	if _, err := r.best(); err == nil {
		t.Error("no error where no rate keeps the bound")
	}
}

// Samples of two measurements follow each other, without the time between them.
func TestOutcomesAdd(t *testing.T) {
	at := time.Now()
	var o outcome
	for i, start := range []time.Time{at, at.Add(time.Hour)} {
		o.add(outcome{start: start, cycle: 2 * time.Second, lags: []lagSample{{start, int64(i)}, {start.Add(time.Second), int64(i)}}, goroutinesPeak: 5 - i})
	}
	a := armOf("x", o)
	for i, p := range a.Lag {
		if p.S != float64(i) || p.Entries != int64(i/2) {
			t.Errorf("point %d is %+v", i, p)
		}
	}
	if a.LagMean != 0.5 || a.LagSD != 0.5 || a.LagPeak != 1 || a.GoroutinesPeak != 5 {
		t.Errorf("arm %+v", a)
	}
}

func TestLagSignal(t *testing.T) {
	heard := false
	s := &lagSignal{lag: func() (int64, bool) { return 0, heard }, bound: 100}
	if _, err := s.Pressure(t.Context()); !errors.Is(err, regulators.ErrNoReading) {
		t.Errorf("without a follower: %v", err)
	}
	heard = true
	if p, err := s.Pressure(t.Context()); p != 0 || err != nil {
		t.Errorf("no lag: pressure %v, %v", p, err)
	}
	// 100 ms apart: a lag at its target, then at a fifth of it; then one that grows by 100 entries/s, which is seen in full
	// after growthOver; then one that falls.
	s = &lagSignal{bound: 100}
	start := time.Now()
	for i, step := range []struct {
		lag  int64
		want float64
	}{{25, 1}, {25, 1}, {5, 0}, {5, 0}, {5, 0.2}, {15, 1.4}, {25, 2}, {35, 2.1}, {5, 0}, {0, 0}, {0, 0}, {0, 0}} {
		p := s.pressure(lagSample{start.Add(time.Duration(i) * 100 * time.Millisecond), step.lag})
		if p < step.want-1e-9 || p > step.want+1e-9 {
			t.Errorf("step %d: lag %d is pressure %.3f, want %.3f", i, step.lag, p, step.want)
		}
	}
}

// Writes come through at the bucket's rate, those that would be too late are refused at once, and reads do not wait.
func TestBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := bucket(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), 10) // a burst of 1
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		answers := make(chan int, 100)
		ask := func(method string) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, "/kv/a", nil))
			answers <- w.Code
		}
		for range 20 {
			go ask(http.MethodPut)
		}
		synctest.Wait()
		if n := len(answers); n != 1+12 { // the burst, and what would wait for more than 750 ms
			t.Errorf("%d of 20 answered at once, want 13", n)
		}
		ask(http.MethodGet)
		if time.Since(start) != 0 {
			t.Error("a read waited")
		}
		good := 0
		for range 21 {
			if <-answers == http.StatusOK {
				good++
			}
		}
		if took := time.Since(start); good != 9 || took.Round(time.Millisecond) != 700*time.Millisecond {
			t.Errorf("%d served in %v, want 8 writes and a read in 700ms", good, took)
		}
	})
}

// What the generator sends is what the node takes it for: tier, lane and tenant.
func TestClassifyAgreesWithTheWorkload(t *testing.T) {
	for method, lane := range map[string]string{http.MethodPut: "write", http.MethodGet: "read"} {
		mix, err := requests(method, true, true)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 1))
		for _, c := range mix.Classes() {
			sent := c.Make(r)
			req := httptest.NewRequestWithContext(t.Context(), sent.Method, sent.Path, strings.NewReader(sent.Body))
			req.Header.Set("X-Tenant", sent.Tenant)
			for k, v := range sent.Header {
				req.Header.Set(k, v)
			}
			if got := classify(req); got.Lane != lane || got.Priority.Tier().String() != c.Tier || got.Tenant != sent.Tenant {
				t.Errorf("%s is taken for %+v", c.Name, got)
			}
		}
	}
}

func TestUsageErrors(t *testing.T) {
	for args, want := range map[string]string{
		"-nonsense":                 "not defined: -nonsense",
		"extra":                     `unexpected argument "extra"`,
		"-json":                     "-json is for -compare",
		"-arm x -rate 0":            "-rate is 0, must be 1 to 100000",
		"-lag-bound 0 -arm x":       `-arm is "x", must be token-bucket or spillway`,
		"-deadline 1ms":             "-deadline is 1ms, must be above 250ms",
		"-cycle 1h":                 "-cycle is 1h0m0s",
		"-pace NaN":                 "-pace is NaN",
		"leader extra":              `unexpected argument "extra"`,
		"follower -sweep-every one": "-sweep-every",
	} {
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(args), strings.NewReader(""), &stdout, &stderr); code != exitUsage {
			t.Errorf("%s: exit status %d, want %d", args, code, exitUsage)
		}
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: stderr %q lacks %q", args, stderr.String(), want)
		}
	}
}
