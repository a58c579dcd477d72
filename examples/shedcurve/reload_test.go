package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/orders"
	"github.com/spillway-go/spillway/internal/race"
)

// reloadConfig has a lane by which a version can be told, and limits that begin far above
// what is learned: a reload that forgot that would show.
func reloadConfig(version int) string {
	return fmt.Sprintf("lanes:\n  read: {limit: {initial: %d}, deadline: 250ms}\n  write: {}\n  version-%d: {}\n", reloadInitial, version)
}

const reloadInitial = 300

// reloadStats is a part of admissionStats.
type reloadStats struct {
	Config struct{ Version, Refused uint64 }
	Lanes  []struct {
		Name            string
		Limit, Inflight int
		Queued          []int
		Tiers           []struct {
			Arrived, Admitted, Left uint64
			Shed, Outcomes          []uint64
		}
	}
	ConfigError string
}

func (s *reloadStats) has(lane string) bool {
	for _, l := range s.Lanes {
		if l.Name == lane {
			return true
		}
	}
	return false
}

// limit is that of the lane read.
func (s *reloadStats) limit() int {
	for _, l := range s.Lanes {
		if l.Name == "read" {
			return l.Limit
		}
	}
	return 0
}

// reloadLoad asks a service for pages and counts what it gets.
type reloadLoad struct {
	t      *testing.T
	base   string
	client http.Client

	sent, served, shed, other atomic.Uint64
}

func (l *reloadLoad) ask() {
	paths := []string{"/orders/%d", "/customers/%d/orders", "/reports/top?%d"} // t1, t2, t5
	n := l.sent.Add(1)
	res, err := l.client.Get(l.base + fmt.Sprintf(paths[n%3], 1+n%20))
	if err != nil {
		l.lost("a request is lost: %v", err)
		return
	}
	_, err = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	switch {
	case err == nil && res.StatusCode == http.StatusOK:
		l.served.Add(1)
	case err == nil && res.StatusCode == http.StatusServiceUnavailable:
		l.shed.Add(1)
	default:
		l.lost("answered %d, %v", res.StatusCode, err)
	}
}

// lost tells of the first requests alone, since what ails one ails many.
func (l *reloadLoad) lost(format string, args ...any) {
	if l.other.Add(1) <= 3 {
		l.t.Errorf(format, args...)
	}
}

// capacity is what four clients in a row get per second.
func (l *reloadLoad) capacity() float64 {
	const clients, length = 4, time.Second
	var wg sync.WaitGroup
	end := time.Now().Add(length)
	for range clients {
		wg.Go(func() {
			for time.Now().Before(end) {
				l.ask()
			}
		})
	}
	wg.Wait()
	return float64(l.served.Load()) / length.Seconds()
}

// offer offers so many requests per second, whatever becomes of them, until ctx ends and all
// are answered.
func (l *reloadLoad) offer(ctx context.Context, rate float64) {
	var wg sync.WaitGroup
	defer wg.Wait()
	start := time.Now()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(start.Add(time.Duration(float64(n) / rate * float64(time.Second))))):
			wg.Go(l.ask)
		}
	}
}

// A service at three times its capacity follows its file, however that is changed, within a second.
// No request is lost, no count is off, and what the limit has learned stays. A broken file is refused
// with its position and changes nothing.
func TestB29ServeFollowsItsFileUnderLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "spillway.yaml")
	put := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, name+".new"); err != nil {
			t.Skip(err)
		}
		rename(name+".new", name)
	}
	put(path, reloadConfig(0))
	db := filepath.Join(dir, "orders.db")
	sizes := testSizes
	if !race.Enabled {
		// Requests as dear as the load test's: of cheap ones so many have to be refused at three times
		// the capacity that it leaves no time for anything else.
		sizes.Customers = 20
	}
	if err := orders.Create(t.Context(), db, sizes); err != nil {
		t.Fatal(err)
	}
	c, err := startChild(t.Context(), db, "on", "-config", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop() })
	slowest := time.Duration(0) // to look
	look := func() (s reloadStats) {
		t.Helper()
		began := time.Now()
		if err := c.Ask(t.Context(), http.MethodGet, "/admission", &s); err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, time.Since(began))
		return s
	}
	wait := func(what string, holds func(reloadStats) bool) (reloadStats, time.Duration) {
		t.Helper()
		for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
			s := look()
			took := time.Since(began)
			if holds(s) {
				return s, took
			}
			if took > 30*time.Second {
				t.Fatalf("not within 30 s: %s; limit %d, version %d", what, s.limit(), s.Config.Version)
			}
		}
	}

	load := &reloadLoad{t: t, base: "http://" + c.At.Addr, client: http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 500}}}
	defer load.client.CloseIdleConnections()
	capacity := load.capacity()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	defer func() { stop(); <-ended }()
	go func() { defer close(ended); load.offer(ctx, 3*capacity) }()
	const learned = reloadInitial / 2
	s, took := wait("the limit is learned", func(s reloadStats) bool { return s.limit() < learned })
	t.Logf("capacity %.0f/s, limit %d after %v at three times that", capacity, s.limit(), took)

	version := 0
	changes := func(how string, change func(text string)) {
		t.Helper()
		version++
		before := look()
		change(reloadConfig(version))
		after, took := wait(how, func(s reloadStats) bool {
			if s.limit() >= learned {
				t.Fatalf("%s: limit %d, was %d: it is not the learned one", how, s.limit(), before.limit())
			}
			return s.has(fmt.Sprint("version-", version))
		})
		t.Logf("%s: in force after %v, limit %d, then %d", how, took, before.limit(), after.limit())
		if took > time.Second+3*slowest {
			t.Errorf("%s: in force after %v, where looking took %v at most; must be within a second", how, took, slowest)
		}
		if after.Config.Refused != 0 || after.Config.Version != before.Config.Version+1 {
			t.Errorf("%s: version %d after %d, %d refused", how, after.Config.Version, before.Config.Version, after.Config.Refused)
		}
	}
	changes("rewritten", func(text string) { put(path, text) })
	changes("renamed over", func(text string) {
		put(path+".new", text)
		rename(path+".new", path)
	})
	configMap := func(text string) { // as the kubelet does
		folder := fmt.Sprint("..", version)
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		put(filepath.Join(dir, folder, "spillway.yaml"), text)
		link(folder, filepath.Join(dir, "..data"))
	}
	changes("made a link into a ConfigMap", func(text string) {
		configMap(text)
		link(filepath.Join("..data", "spillway.yaml"), path)
	})
	changes("ConfigMap swapped", configMap)

	version++
	before := look()
	configMap(strings.Replace(reloadConfig(version), "initial: 300", "initial: many", 1))
	after, _ := wait("the broken file is refused", func(s reloadStats) bool { return s.Config.Refused == 1 })
	if want := `spillway.yaml:2:27: lanes["read"].limit.initial is "many"`; !strings.Contains(after.ConfigError, want) {
		t.Errorf("refused with %q, want in it %q", after.ConfigError, want)
	}
	if after.Config.Version != before.Config.Version || !after.has(fmt.Sprint("version-", version-1)) || after.limit() >= learned {
		t.Errorf("a broken file has changed something: version %d, limit %d", after.Config.Version, after.limit())
	}

	stop()
	<-ended
	var arrived, admitted, shed, outcomes uint64
	for _, l := range look().Lanes {
		for _, n := range l.Queued {
			l.Inflight += n
		}
		if l.Inflight != 0 {
			t.Errorf("lane %s: %d are still inside", l.Name, l.Inflight)
		}
		for _, tier := range l.Tiers {
			arrived, admitted = arrived+tier.Arrived, admitted+tier.Admitted
			for _, n := range tier.Shed {
				shed += n
			}
			for _, n := range tier.Outcomes {
				outcomes += n
			}
		}
	}
	sent, served, refused := load.sent.Load(), load.served.Load(), load.shed.Load()
	t.Logf("sent %d, served %d, refused %d", sent, served, refused)
	if arrived != sent || admitted != served || shed != refused || outcomes != served {
		t.Errorf("the service counts %d arrived, %d admitted with %d outcomes, %d shed", arrived, admitted, outcomes, shed)
	}
}
