package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
	"github.com/spillway-go/spillway/examples/shedcurve/report"
)

var testSizes = orders.Sizes{Orders: 2_000, Customers: 110, Products: 1_600} // the race detector makes SQLite slow

// short is a run of a moment, on target or on services of its own.
func short(t *testing.T, target string, rates ...float64) options {
	t.Helper()
	o := options{
		target: target, rates: rates, warmUp: 50 * time.Millisecond, duration: 500 * time.Millisecond, window: 100 * time.Millisecond,
		deadline: 5 * time.Second, seed: 1, out: t.TempDir(), json: true, sizes: testSizes,
	}
	var err error
	if target != "" {
		o.mix, err = parseMix(target, []string{"weight=3 tier=t1 tenant=a GET /x", "tier=t5 GET /y"}, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func decode(t *testing.T, data []byte) report.Report {
	t.Helper()
	var r report.Report
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return r
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

const (
	fourFiles = "shedcurve.csv shedcurve.html shedcurve.json shedcurve.svg"
	fiveFiles = "shedcurve.csv shedcurve.html shedcurve.json shedcurve.scenario.json shedcurve.svg"
)

// The whole program, small: both arms over the real service.
func TestBothArms(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 19 s")
	}
	o := short(t, "", 2, 4) // some requests also where the service can do five a second
	o.scenario = true
	var stdout, stderr bytes.Buffer
	if err := newCurve(o, &stderr).run(t.Context(), &stdout); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(files(t, o.out), " "); got != fiveFiles {
		t.Errorf("files %s, want %s", got, fiveFiles)
	}
	if stderr.Len() > 0 {
		t.Errorf("not quiet on what is no terminal: %q", stderr.String())
	}
	r := decode(t, stdout.Bytes())
	if r.CapacityRPS <= 0 || r.DeadlineMS != 5000 || r.Seed != 1 || len(r.Arms) != 2 || r.Arms[0].Name != "off" || r.Arms[1].Name != "on" {
		t.Fatalf("capacity %v, deadline %v, seed %v, %d arms", r.CapacityRPS, r.DeadlineMS, r.Seed, len(r.Arms))
	}
	t.Logf("capacity %.0f/s", r.CapacityRPS)
	checkScenario(t, filepath.Join(o.out, scenarioFile), r.CapacityRPS)
	for _, a := range r.Arms {
		if len(a.Points) != 2 || a.Points[0].X != 2 || a.Points[1].X != 4 {
			t.Fatalf("arm %s: %d points", a.Name, len(a.Points))
		}
		for _, p := range a.Points {
			if p.Offered == 0 || p.Offered != p.Good+p.Shed+p.Failed || p.Admitted != p.Good+p.Failed {
				t.Errorf("arm %s at %g: %+v does not add up", a.Name, p.X, p)
			}
			if p.GoroutinesPeak == nil || *p.GoroutinesPeak == 0 || p.HeapPeakBytes == nil || *p.HeapPeakBytes == 0 {
				t.Errorf("arm %s at %g: no usage", a.Name, p.X)
			}
			if p.Speed == nil || *p.Speed <= 0 {
				t.Errorf("arm %s at %g: no speed", a.Name, p.X)
			}
		}
	}
	// Both arms were asked for the same.
	for i := range r.Arms[0].Points {
		if off, on := r.Arms[0].Points[i].Offered, r.Arms[1].Points[i].Offered; off != on {
			t.Errorf("point %d: %d requests to off, %d to on", i, off, on)
		}
	}
}

// The same over gRPC: both arms are asked for what they would be over HTTP, and write the same files.
func TestBothArmsOverGRPC(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes six seconds")
	}
	o := short(t, "", 2)
	o.grpc = true
	var stdout, stderr bytes.Buffer
	if err := newCurve(o, &stderr).run(t.Context(), &stdout); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(files(t, o.out), " "); got != fourFiles {
		t.Errorf("files %s, want %s", got, fourFiles)
	}
	r := decode(t, stdout.Bytes())
	if len(r.Arms) != 2 || r.CapacityRPS <= 0 {
		t.Fatalf("capacity %v, %d arms", r.CapacityRPS, len(r.Arms))
	}
	t.Logf("capacity %.0f/s", r.CapacityRPS)
	for _, a := range r.Arms {
		p := a.Points[0]
		if p.Good == 0 || p.Offered != p.Good+p.Shed+p.Failed || p.Tiers["t1"].Offered == 0 || len(p.Tenants) == 0 || p.Speed == nil {
			t.Errorf("arm %s: %+v", a.Name, p)
		}
	}
}

func TestTarget(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { time.Sleep(5 * time.Millisecond) }))
	defer srv.Close()
	o := short(t, srv.URL, 0.1)
	o.json = false
	var stdout bytes.Buffer
	if err := newCurve(o, &stdout).run(t.Context(), &stdout); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout.String(), report.ArmTarget) {
		t.Errorf("the table does not name the arm: %q", stdout.String())
	}
	data, err := os.ReadFile(filepath.Join(o.out, "shedcurve.json"))
	if err != nil {
		t.Fatal(err)
	}
	p := decode(t, data).Arms[0].Points[0]
	if p.GoroutinesPeak != nil || p.HeapPeakBytes != nil || p.CPUSeconds != nil || p.Speed != nil || p.LeftOut != 0 {
		t.Errorf("usage of somebody else's service: %+v", p)
	}
	if p.Tiers["t1"].Offered == 0 || p.Tenants["a"] != p.Tiers["t1"] {
		t.Errorf("tiers %v, tenants %v", p.Tiers, p.Tenants)
	}
}

func TestUnreachableTarget(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	var stdout, stderr bytes.Buffer
	dir := t.TempDir()
	code := run([]string{"-target", "http://" + l.Addr().String(), "-request", "GET /", "-out", dir}, strings.NewReader(""), &stdout, &stderr)
	if code != exitFailed || !strings.Contains(stderr.String(), "connection refused") {
		t.Errorf("exit status %d, stderr %q", code, stderr.String())
	}
	if got := files(t, dir); len(got) > 0 {
		t.Errorf("nothing was measured, but files were written: %v", got)
	}
}

func TestTargetThatDiesMidway(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(2 * time.Millisecond) }))
	o := short(t, srv.URL, 0.1, 0.2, 0.3)
	var stdout, stderr bytes.Buffer
	c := newCurve(o, &stderr)
	go func() {
		for doing := ""; !strings.HasSuffix(doing, " at 0.2x") && !strings.HasSuffix(doing, " at 0.3x"); doing = c.bar.doing() {
			time.Sleep(time.Millisecond)
		}
		srv.CloseClientConnections()
		srv.Close()
	}()
	err := c.run(t.Context(), &stdout)
	if !errors.Is(err, load.ErrDead) || status(err, &stderr) != exitFailed {
		t.Fatalf("error %v, want that the target died", err)
	}
	r := decode(t, stdout.Bytes())
	// Where the last few requests alone met a dead target, their point is one more.
	if n := len(r.Arms[0].Points); n < 1 || n > 2 {
		t.Errorf("%d points were kept, want those before the end", n)
	}
	if !strings.Contains(r.Note, "ended early") {
		t.Errorf("note %q", r.Note)
	}
	if got := strings.Join(files(t, o.out), " "); got != fourFiles {
		t.Errorf("files %s, want %s", got, fourFiles)
	}
}

// A point is measured again while the generator lagged, as long as there is time, and the best attempt counts.
func TestLaggingPointIsRepeated(t *testing.T) {
	const took = 4 * time.Second
	for _, tt := range []struct {
		name     string
		lags     []float64 // of the attempts, in ms
		budget   time.Duration
		attempts int
		lag      float64
		left     time.Duration
	}{
		{"valid at once", []float64{3, 1}, time.Hour, 1, 3, time.Hour},
		{"valid the second time", []float64{30, 3, 1}, time.Hour, 2, 3, time.Hour - took},
		{"never valid", []float64{30, 20, 25, 1}, time.Hour, 3, 20, time.Hour - 2*took},
		{"no time", []float64{30, 3}, took - 1, 1, 30, took - 1},
		{"time for one", []float64{30, 20, 3}, took, 2, 20, 0},
	} {
		c := curve{opts: options{warmUp: time.Second, duration: took - time.Second - pointRest}, repeats: tt.budget}
		attempts := 0
		p, err := c.point(func() (report.Point, error) {
			lag := tt.lags[attempts]
			attempts++
			return report.Point{LagP99MS: lag, Valid: lag <= ms(maxLag)}, nil
		})
		if err != nil || attempts != tt.attempts || p.LagP99MS != tt.lag || c.repeats != tt.left {
			t.Errorf("%s: %d attempts, lag %v, %v left, %v; want %d, %v, %v", tt.name, attempts, p.LagP99MS, c.repeats, err, tt.attempts, tt.lag, tt.left)
		}
	}
}
