package promql_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// metricsPage is what the test's own target is scraped for.
const metricsPage = `lag_seconds{follower="a"} 0.1
lag_seconds{follower="b"} 0.25
broken NaN
`

// TestRealPrometheus asks a Prometheus of its own, which scrapes a page of the
// test. It needs the program in PATH; without it, it fails where CI is set, and is skipped
// on a developer's machine.
func TestRealPrometheus(t *testing.T) {
	program, err := exec.LookPath("prometheus")
	if err != nil && os.Getenv("CI") != "" {
		t.Fatalf("CI is set, so that this must run: %v", err)
	} else if err != nil {
		t.Skipf("%v (Debian's package prometheus has it)", err)
	}
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, metricsPage)
	}))
	defer target.Close()
	address := startPrometheus(t, program, target.Listener.Addr().String())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for { // until it is up and has scraped
		_, err := ask(t, ctx, address, nil, "max(lag_seconds)")
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("no scrape in time: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	for _, tc := range []struct {
		query string
		want  float64
		text  string // of the error
	}{
		{"max(lag_seconds) / 0.2", 1.25, ""},
		{"scalar(min(lag_seconds)) * 2", 0.2, ""},
		{`lag_seconds{follower="b"}`, 0.25, ""},
		{"lag_seconds", 0, "has 2 samples, must have one"},
		{"nobody_knows", 0, "no reading"},
		{"broken", 0, "the answer is NaN"},
		{"max(lag_seconds) / 0", 0, "the answer is +Inf"},
		{"-max(lag_seconds)", 0, "the answer is -0.25"},
		{"lag_seconds[1m]", 0, "is a matrix, must be a scalar or a vector"},
		{`"text"`, 0, "string"},
		{"max(lag_seconds", 0, "unclosed left parenthesis"},
	} {
		got, err := ask(t, ctx, address, nil, tc.query)
		if got != tc.want || (err == nil) != (tc.text == "") || err != nil && !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v, %v, want %v, %q", tc.query, got, err, tc.want, tc.text)
		}
		if noReading := errors.Is(err, regulators.ErrNoReading); noReading != (tc.text == "no reading") {
			t.Errorf("%s: %v, is ErrNoReading: %v", tc.query, err, noReading)
		}
	}
}

// startPrometheus runs it on a free port of loopback until the test ends, and
// returns its address.
func startPrometheus(t *testing.T, program, target string) string {
	t.Helper()
	dir := t.TempDir()
	// A scrape that is late would take away what the one before it has brought.
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("scrape_configs:\n- job_name: test\n  scrape_interval: 2s\n  scrape_timeout: 2s\n  static_configs:\n  - targets: [%q]\n", target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := free.Addr().String()
	free.Close()
	server := exec.Command(program, "--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", listen)
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Logf("Prometheus said:\n%s", log.String())
		}
	})
	return "http://" + listen
}
