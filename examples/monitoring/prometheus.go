package monitoring

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

var (
	//go:embed prometheus.yml
	configFile string
	//go:embed alerts.yaml
	alertsFile string
)

// Config says what [Start] changes in the files.
type Config struct {
	Target   string        // host and port that are scraped, at /metrics
	Interval time.Duration // between scrapes and evaluations; from a millisecond
	For      time.Duration // how long each alert's expression holds before it fires; 0: at once
}

// Prometheus is a server that [Start] has started. Its methods may be called from any goroutine.
type Prometheus struct {
	URL   string
	cmd   *exec.Cmd
	dir   string
	said  bytes.Buffer // to be read when ended is closed
	ended chan struct{}
}

// startTime is how long Prometheus may take until it answers.
const startTime = time.Minute

// Start runs the program prometheus, which it looks for in PATH, on a free port of loopback, with its data in a
// temporary folder. The error wraps [exec.ErrNotFound] where there is none. It blocks until the server is ready.
// What it started lives until [Prometheus.Stop].
func Start(ctx context.Context, c Config) (*Prometheus, error) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		return nil, err
	}
	p := &Prometheus{ended: make(chan struct{})}
	if p.dir, err = os.MkdirTemp("", "monitoring-"); err != nil {
		return nil, err
	}
	if err = c.write(p.dir); err == nil {
		err = p.run(program)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.dir))
	}
	if err := p.ready(ctx); err != nil {
		p.Stop()
		return nil, fmt.Errorf("starting Prometheus: %w; it said: %s", err, p.said.Bytes())
	}
	return p, nil
}

// write puts the files into dir, with the changes.
func (c Config) write(dir string) error {
	if c.Interval < time.Millisecond || c.For < 0 {
		return fmt.Errorf("monitoring: interval is %v, for is %v: must be at least 1ms and 0", c.Interval, c.For)
	}
	config := regexp.MustCompile(`_interval: .*`).ReplaceAllString(configFile, "_interval: "+milliseconds(c.Interval))
	config = regexp.MustCompile(`targets: .*`).ReplaceAllString(config, "targets: ["+strconv.Quote(c.Target)+"]")
	alerts := regexp.MustCompile(` for: .*`).ReplaceAllString(alertsFile, " for: "+milliseconds(c.For))
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600),
		os.WriteFile(filepath.Join(dir, "alerts.yaml"), []byte(alerts), 0o600))
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + "ms" }

// run starts the program.
func (p *Prometheus) run(program string) error {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	at := free.Addr().String()
	free.Close()
	p.URL = "http://" + at
	p.cmd = exec.Command(program, "--config.file", filepath.Join(p.dir, "prometheus.yml"),
		"--storage.tsdb.path", filepath.Join(p.dir, "data"), "--web.listen-address", at)
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	return nil
}

// ready waits until the server answers.
func (p *Prometheus) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		err := p.get(ctx, "/-/ready", nil)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return errors.New("it has ended")
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop ends the server and removes its data. It may be called more than once.
func (p *Prometheus) Stop() {
	_ = p.cmd.Process.Kill()
	<-p.ended
	_ = os.RemoveAll(p.dir)
}

// Sample is one series' value at the time of a query.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Query evaluates an expression, whose value must be a vector, now.
func (p *Prometheus) Query(ctx context.Context, expr string) ([]Sample, error) {
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := p.get(ctx, "/api/v1/query?query="+url.QueryEscape(expr), &answer); err != nil {
		return nil, fmt.Errorf("monitoring: %s: %w", expr, err)
	}
	samples := make([]Sample, len(answer.Data.Result))
	for i, r := range answer.Data.Result {
		text, _ := r.Value[1].(string) // after the time
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("monitoring: %s: %w", expr, err)
		}
		samples[i] = Sample{r.Metric, value}
	}
	return samples, nil
}

// get asks the server and decodes its answer, if into is not nil.
func (p *Prometheus) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %s", res.StatusCode, bytes.TrimSpace(text.Bytes()))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text.Bytes(), into)
}
