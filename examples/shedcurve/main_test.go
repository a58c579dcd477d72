package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The load test starts its own executable as the service; in tests that is this one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		main()
	}
	// The race detector has a process that ends wait for a second.
	if err := os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestUsageErrors(t *testing.T) {
	yaml := filepath.Join(t.TempDir(), "requests.yaml")
	if err := os.WriteFile(yaml, []byte("- {method: GET, path: x}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args string
		want []string
	}{
		{"-nonsense", []string{"not defined: -nonsense"}},
		{"extra", []string{`unexpected argument "extra"`, "serve, sim, noisy, watch, limits"}},
		{"watch -rates 0 -rounds -1 -duration 1ms", []string{`-rates has "0"`, "-rounds is -1, must be 0 or more", "-duration is 1ms"}},
		{"sim", []string{"-scenario is missing"}},
		{"-rates 1,x", []string{`-rates has "x"`}},
		{"-rates 0", []string{`-rates has "0"`}},
		{"-rates -1", []string{`-rates has "-1"`}},
		{"-rates NaN", []string{`-rates has "NaN"`}},
		{"-rates 1,,2", []string{`-rates has ""`}},
		{"-rates 1e9", []string{"at most 100"}},
		{"-duration 5", []string{"-duration"}},
		{"-duration 1ms -deadline 0s -rates x", []string{"-duration is 1ms", "-deadline is 0s", `-rates has "x"`}},
		{"-duration 1h", []string{"-duration is 1h0m0s, must be 100ms to 10m0s"}},
		{"-seed -1", []string{"-seed"}},
		{"-request GET", []string{"-target, which is missing"}},
		{"-target http://x", []string{"-target needs -request or -requests"}},
		{"-target x -request GET", []string{`-target: load: target is "x"`, `request "GET": must end with a method and a path`}},
		{"-target grpc://x -request GET", []string{`target is "grpc://x"`}},
		{"-target grpc://x:1 -request /a.B/C -grpc", []string{"-grpc is for our own service"}},
		{"-target grpc://x:1 -request /a.B", []string{"must be one of gRPC"}},
		{"-target http://x -requests " + yaml, []string{"requests[0]", `path is "x"`}},
		{"-target http://x -requests /none.yaml", []string{"-requests:", "/none.yaml"}},
		{"noisy -pairs 0 -load 0 -duration 1ms", []string{"-pairs is 0", "-load is 0", "-duration is 1ms"}},
		{"noisy extra", []string{`unexpected argument "extra"`}},
		{"limits -rounds 0 -load -1 -limits 0 -deadline 0s", []string{"-rounds is 0", "-load is -1", `-limits has "0"`, "-deadline is 0s"}},
		{"limits -limits 1,x", []string{`-limits has "x"`}},
		{"limits -limits 1,2000000 -customers 3", []string{`-limits has "2000000"`, "-customers is 3"}},
		{"limits extra", []string{`unexpected argument "extra"`}},
		{"serve -limit -1", []string{"-limit:", "fixed is -1: must be between 0 and 1000000"}},
		{"serve -limit 3 -spillway off", []string{"-limit is for -spillway on"}},
		{"serve -spillway maybe", []string{`-spillway is "maybe", must be on or off`}},
		{"serve -nonsense", []string{"not defined: -nonsense"}},
		{"-customers -1", []string{"-customers is -1, must be 0 or 4 to 2000"}},
		{"-target http://x -request GET -customers 9", []string{"-customers is for our own service"}},
		{"noisy -customers 3", []string{"-customers is 3"}},
		{"serve -customers 5000", []string{"-customers is 5000"}},
		{"serve -customers 50 -db x", []string{"-customers is for a new database"}},
		{"serve extra", []string{`unexpected argument "extra"`}},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(tt.args), strings.NewReader(""), &stdout, &stderr); code != exitUsage {
			t.Errorf("%s: exit status %d, want %d", tt.args, code, exitUsage)
		}
		for _, w := range tt.want {
			if !strings.Contains(stderr.String(), w) {
				t.Errorf("%s: stderr %q lacks %q", tt.args, stderr.String(), w)
			}
		}
		if stdout.Len() > 0 {
			t.Errorf("%s: printed %q", tt.args, stdout.String())
		}
	}
}

func TestHelp(t *testing.T) {
	for args, flags := range map[string][]string{
		"-help":        {"-target", "-request", "-requests", "-rates", "-duration", "-deadline", "-seed", "-out", "-json", "-quick", "-grpc", "-customers"},
		"noisy -help":  {"-pairs", "-load", "-duration", "-deadline", "-seed", "-customers"},
		"limits -help": {"-limits", "-rounds", "-load", "-duration", "-deadline", "-seed", "-json", "-customers"},
		"serve -help":  {"-addr", "-admin", "-spillway", "-grpc", "-limit", "-config", "-db", "-customers"},
		"sim -help":    {"-scenario", "-config", "-lane", "-limit", "-law", "-require", "-seeds", "-oracle", "-json", "-out", "goodput", "p999", "settle"},
	} {
		var stderr bytes.Buffer
		if code := run(strings.Fields(args), strings.NewReader(""), &stderr, &stderr); code != exitOK {
			t.Errorf("%s: exit status %d, want %d", args, code, exitOK)
		}
		for _, f := range flags {
			if !strings.Contains(stderr.String(), "  "+f) {
				t.Errorf("%s does not list %s", args, f)
			}
		}
		for _, command := range []string{"serve", "sim", "noisy", "limits"} {
			if args == "-help" && !strings.Contains(stderr.String(), "  shedcurve "+command+" ") {
				t.Errorf("%s does not list %s", args, command)
			}
		}
		if args == "-help" && !strings.Contains(stderr.String(), "half-seconds count in which the speed\nwas within 30 %") {
			t.Errorf("%s does not say what counts: %q", args, stderr.String())
		}
	}
}

func TestOptions(t *testing.T) {
	parse := func(args string) options {
		t.Helper()
		o, err := parseOptions(strings.Fields(args), &bytes.Buffer{})
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		return o
	}
	if o := parse(""); len(o.rates) != 8 || o.rates[0] != 0.5 || o.rates[7] != 10 || o.expected() > 115*time.Second {
		t.Errorf("default: rates %v, %v; want 0.5 to 10 in under two minutes", o.rates, o.expected())
	}
	if o := parse("-quick"); o.expected() > 30*time.Second || o.rates[len(o.rates)-1] != 10 {
		t.Errorf("-quick: rates %v, %v; want up to 10 in under 30 s", o.rates, o.expected())
	}
	if o := parse("-quick -rates 3,1,3 -duration 2s"); len(o.rates) != 2 || o.rates[0] != 1 || o.duration != 2*time.Second {
		t.Errorf("-quick overrides what was given: rates %v, duration %v", o.rates, o.duration)
	}
	o, err := parseOptions([]string{"-target", "http://x", "-request", "weight=3 tier=t1 GET /x", "-request", "GET /y"}, &bytes.Buffer{})
	if err != nil || len(o.mix.Classes()) != 2 {
		t.Errorf("two requests: %v, %v", o.mix, err)
	}
}

func TestProgressLine(t *testing.T) {
	p := startProgress(&bytes.Buffer{}, 100*time.Second) // no terminal: nothing is drawn
	defer p.stop()
	p.say("arm %s at %gx", "on", 1.5)
	for elapsed, want := range map[time.Duration]string{
		0:                 "[................................]  0 %, about 1m40s left: arm on at 1.5x",
		50 * time.Second:  "[################................] 50 %, about 50s left: arm on at 1.5x",
		300 * time.Second: "[###############################.] 99 %, about 1s left: arm on at 1.5x",
	} {
		if got := p.line(elapsed); got != want {
			t.Errorf("after %v: %q, want %q", elapsed, got, want)
		}
	}
	if isTerminal(p.w) {
		t.Error("a buffer is taken for a terminal")
	}
}

// A wrong config is told before the database is made, which takes a while.
func TestServeReadsItsConfigFirst(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "spillway.yaml")
	if err := os.WriteFile(config, []byte("lanes: {read: {}}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := run([]string{"serve", "-config", config, "-db", filepath.Join(dir, "none", "orders.db")}, strings.NewReader(""), &stdout, &stderr)
	if code != exitFailed || !strings.Contains(stderr.String(), `must have lane "write"`) {
		t.Errorf("exit status %d: %s", code, stderr.String())
	}
}

// Whoever ran the load test is told of its files, and of none that was there before.
func TestWritten(t *testing.T) {
	dir, start := t.TempDir(), time.Now()
	for name, at := range map[string]time.Time{"shedcurve.svg": start, "shedcurve.csv": start.Add(-time.Second), "notes": start} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if got := written(dir, start); len(got) != 1 || got[0] != filepath.Join(dir, "shedcurve.svg") {
		t.Errorf("written are %v", got)
	}
}
