package configfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spillway-go/spillway/admission"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// capOf is a config whose rule for acme has the cap, and whose limit is to start at a
// number that a limit which was learned is not.
func capOf(n int) string {
	return fmt.Sprintf("lanes: {default: {limit: {initial: 10}}}\nscorecard: {rules: [{name: acme, match: \"tenant:acme\", cap: %d}]}\n", n)
}

func capNow(c *admission.Controller) int { return c.Config().Scorecard.Rules[0].Cap.N }

// configMap lays files out as the kubelet does: the name is a link to ..data/NAME, and
// ..data is a link to a folder of the version, which goes when the next one is there.
type configMap struct {
	dir     string
	version int
}

func (m *configMap) put(t *testing.T, text string) {
	t.Helper()
	before := fmt.Sprintf("..%d", m.version)
	m.version++
	now := fmt.Sprintf("..%d", m.version)
	if err := os.Mkdir(filepath.Join(m.dir, now), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(m.dir, now, "spillway.yaml"), text)
	if err := os.Symlink(now, filepath.Join(m.dir, "..data_tmp")); err != nil {
		t.Skip(err)
	}
	if err := errors.Join(os.Rename(filepath.Join(m.dir, "..data_tmp"), filepath.Join(m.dir, "..data")), os.RemoveAll(filepath.Join(m.dir, before))); err != nil {
		t.Fatal(err)
	}
	if m.version == 1 {
		if err := os.Symlink(filepath.Join("..data", "spillway.yaml"), filepath.Join(m.dir, "spillway.yaml")); err != nil {
			t.Skip(err)
		}
	}
}

// A running controller under load follows its file however that is changed, each way
// twice, and a broken file changes nothing. No request is lost, and the limit stays.
func TestB29EveryKindOfChangeIsSeen(t *testing.T) {
	ways := map[string]func(t *testing.T, path string) (change func(text string)){
		"rewritten": func(t *testing.T, path string) func(string) { return func(text string) { write(t, path, text) } },
		"renamed":   func(t *testing.T, path string) func(string) { return func(text string) { replace(t, path, text) } },
		"made anew": func(t *testing.T, path string) func(string) {
			return func(text string) {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				time.Sleep(200 * time.Millisecond)
				write(t, path, text)
			}
		},
		"ConfigMap": func(t *testing.T, path string) func(string) {
			m := &configMap{dir: filepath.Dir(path)}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			m.put(t, capOf(20))
			return func(text string) { m.put(t, text) }
		},
		"pointed elsewhere": func(t *testing.T, path string) func(string) {
			other := t.TempDir()
			n := 0
			point := func(text string) {
				n++
				target := filepath.Join(other, fmt.Sprint(n))
				write(t, target, text)
				if err := os.Symlink(target, path+".new"); err != nil {
					t.Skip(err)
				}
				if err := os.Rename(path+".new", path); err != nil {
					t.Fatal(err)
				}
			}
			point(capOf(20))
			return point
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := tempFile(t, capOf(20))
			change := way(t, path)
			cfg, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			l := cfg.Lanes["default"]
			l.Limit.Initial = 60 // as if learned
			cfg.Lanes["default"] = l
			ctrl := controlWith(t, cfg)
			watched(t, path, ctrl)
			stop := offer(t, ctrl, 8, admission.Request{Tenant: "acme"})
			for _, n := range []int{21, 22} {
				version := ctrl.Stats().Config.Version
				change(capOf(n))
				took := soon(t, fmt.Sprintf("cap %d", n), func() bool { return capNow(ctrl) == n })
				t.Logf("in force after %v", took)
				if more := ctrl.Stats().Config.Version - version; more > 2 {
					t.Errorf("%d configs applied for one change", more)
				}
			}
			refused := ctrl.Stats().Config.Refused
			change(strings.Replace(capOf(23), "initial: 10", "initial: ten, max: 50", 1))
			soon(t, "the broken one is refused", func() bool {
				s := ctrl.Stats().Config
				return s.Refused > refused && s.Err != nil && strings.Contains(s.Err.Error(), `spillway.yaml:1:36: lanes["default"].limit.initial is "ten": must be a whole number`)
			})
			if capNow(ctrl) != 22 {
				t.Errorf("cap %d after a broken file, want 22", capNow(ctrl))
			}
			if stop() == 0 {
				t.Error("nothing ran")
			}
			// A probe halves it for a moment; a limit that starts anew is 10.
			if l := ctrl.Stats().Lanes[0]; l.Limit < 25 {
				t.Errorf("limit %d (%s), want the learned 60 or so", l.Limit, l.LimitWhy)
			}
		})
	}
}

// A file that is written in pieces, cut inside a key, is applied when it is whole and
// never before.
func TestB28HalfWritten(t *testing.T) {
	text := func(n int) string { return fmt.Sprintf("lanes:\n  default:\n    limit:\n      fixed: %d\n", n) }
	path := tempFile(t, text(50))
	ctrl := control(t, path)
	watched(t, path, ctrl)
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	limit := func() int { return ctrl.Config().Lanes["default"].Limit.Fixed }
	for i := range rounds {
		want := 60 - i%2*10
		next := text(want)
		write(t, path, "")
		time.Sleep(50 * time.Millisecond)
		write(t, path, next[:len(next)-7]) // in the middle of "fixed"
		time.Sleep(50 * time.Millisecond)
		write(t, path, next)
		soon(t, "the whole file is in force", func() bool {
			if n := limit(); n != 50 && n != 60 {
				t.Fatalf("limit %d", n)
			}
			return limit() == want
		})
	}
	replace(t, path, "mode: shadow\nlanes: {default: {limit: {fixed: -1}}}\n")
	soon(t, "the bad value is named", func() bool {
		err := ctrl.Stats().Config.Err
		return err != nil && strings.Contains(err.Error(), `lanes["default"].limit.fixed is "-1"`)
	})
	refused := ctrl.Stats().Config.Refused
	replace(t, path, "mode: shadow\nlanes: {default: {limit: {fixed: 70}, dedline: 1s}}\n")
	soon(t, "the unknown key is named", func() bool {
		s := ctrl.Stats().Config
		return s.Err != nil && strings.Contains(s.Err.Error(), `lanes["default"].dedline`) && s.Refused > refused
	})
	if c := ctrl.Config(); refused == 0 || c.Mode != admission.Enforce || limit() != 50 && limit() != 60 {
		t.Errorf("%d refused before, mode %v, limit %d: a part of a wrong file was applied", refused, c.Mode, limit())
	}
}

// After a thousand changes there are as many goroutines and watches as before.
func TestB29AThousandRenames(t *testing.T) {
	path := tempFile(t, capOf(20))
	ctrl := control(t, path)
	watched(t, path, ctrl)
	goroutines, watches := runtime.NumGoroutine(), inotifyWatches(t)
	for n := range 1000 {
		replace(t, path, capOf(1000+n))
	}
	soon(t, "the last is in force", func() bool { return capNow(ctrl) == 1999 })
	soon(t, "no more goroutines than before", func() bool { return runtime.NumGoroutine() <= goroutines })
	if now := inotifyWatches(t); now != watches {
		t.Errorf("%d watches, before %d", now, watches)
	}
}

// inotifyWatches counts this process's, where the system tells.
func inotifyWatches(t *testing.T) (n int) {
	t.Helper()
	infos, _ := filepath.Glob("/proc/self/fdinfo/*")
	for _, path := range infos {
		text, _ := os.ReadFile(path) // some are gone by now
		n += bytes.Count(text, []byte("inotify wd:"))
	}
	return n
}

// looker returns a function that looks at the file as Watch does when it has settled.
func looker(t *testing.T, path string, ctrl *admission.Controller) (look func()) {
	t.Helper()
	s := gather(nil)
	s.check = checkFor(ctrl)
	w := watcher{path: path, ctrl: ctrl, settings: s}
	return func() {
		t.Helper()
		if err := w.look(false); err != nil {
			t.Fatal(err)
		}
	}
}

// At the start nothing is applied where the file says what is in force, and else it is.
func TestStartAppliesOnlyAChange(t *testing.T) {
	path := tempFile(t, capOf(20))
	for n, applied := range map[int]uint64{20: 0, 21: 1} {
		ctrl := control(t, tempFile(t, capOf(20)))
		write(t, path, capOf(n))
		looker(t, path, ctrl)()
		if s := ctrl.Stats().Config; s.Version != 1+applied || capNow(ctrl) != n {
			t.Errorf("cap %d: %d configs applied, the cap is %d", n, s.Version-1, capNow(ctrl))
		}
		ctrl.RefuseConfig(errors.New("unreadable"))
		looker(t, path, ctrl)()
		if s := ctrl.Stats().Config; s.Version != 2+applied || s.Err != nil {
			t.Errorf("cap %d: after a refusal %d configs applied, %v", n, s.Version-1, s.Err)
		}
	}
}

// A thousand changed configs under load: nothing is lost, and nothing is left of them.
func TestAThousandReloads(t *testing.T) {
	path := tempFile(t, capOf(20))
	ctrl := control(t, path)
	look := looker(t, path, ctrl)
	stop := offer(t, ctrl, 16, admission.Request{Tenant: "acme"})
	reload := func(from, to int) {
		for n := from; n < to; n++ {
			replace(t, path, strings.Replace(capOf(1+n%30), "lanes: {", fmt.Sprintf("mode: %s\nlanes: {l%d: {}, ", admission.Mode(n%2), n%3), 1))
			look()
		}
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	reload(0, 100) // pools and tables have their size
	goroutines, before := runtime.NumGoroutine(), heap()
	reload(100, 1000)
	if s := ctrl.Stats().Config; s.Version != 1001 || s.Refused != 0 {
		t.Errorf("%d applied, %d refused, last error %v", s.Version-1, s.Refused, s.Err)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	// A plan alone is some kilobytes: 900 that stay would be seen.
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if stop() == 0 {
		t.Error("nothing ran")
	}
}

// A file that cannot be read leaves the last good limit in force: each release lets in
// exactly one of those that wait. A field left out is none of those: it is the default.
func TestB15UnreadableIsNotZero(t *testing.T) {
	text := "lanes: {default: {limit: {fixed: 5}, deadline: 1h}}\n"
	path := tempFile(t, text)
	ctrl := control(t, path)
	look := looker(t, path, ctrl)
	look()
	var running []admission.Ticket
	for range 5 {
		ticket, err := ctrl.Admit(t.Context(), admission.Request{})
		if err != nil {
			t.Fatal(err)
		}
		running = append(running, ticket)
	}
	admitted := make(chan admission.Ticket, 10)
	for range 10 {
		go func() {
			ticket, err := ctrl.Admit(context.Background(), admission.Request{})
			if err != nil {
				t.Error(err)
			}
			admitted <- ticket
		}()
	}
	lane := func() admission.LaneStats { return ctrl.Stats().Lanes[0] }
	waiting := 10
	soon(t, "all wait", func() bool { return lane().Queued[admission.T3] == waiting })
	version := ctrl.Stats().Config.Version
	for i, spoil := range []func(){
		func() { _ = os.Remove(path) },
		func() { _ = os.Mkdir(path, 0o755) }, // there, but not to be read, also not by root
		func() { _ = os.Remove(path); write(t, path, "lanes: {default: {limit: {fixed: 5}") },
		func() { write(t, path, "lanes: {default: {limit: {fixed:}}}") },
		func() { write(t, path, "") },
	} {
		spoil()
		running[i].Release(admission.Success)
		look()
		look() // nobody is told twice
		waiting--
		soon(t, "one is let in", func() bool { return lane().Queued[admission.T3] == waiting })
		if l, s := lane(), ctrl.Stats().Config; l.Inflight != 5 || l.Limit != 5 || s.Version != version || s.Refused != uint64(i+1) || s.Err == nil {
			t.Errorf("step %d: inflight %d, limit %d, %+v", i, l.Inflight, l.Limit, s)
		}
	}
	// As it was, it is good again, and that is told.
	write(t, path, text)
	look()
	if s := ctrl.Stats().Config; s.Version != version+1 || s.Err != nil {
		t.Errorf("after all: %+v", s)
	}
	for range 10 {
		(<-admitted).Release(admission.Success)
	}
}

// What a reload must keep, and what it must not: counts and limits stay, caps change.
func TestB27ReloadsKeepCounts(t *testing.T) {
	text := func(n int, more string) string {
		return fmt.Sprintf("lanes: {default: {limit: {fixed: 20}}}\n%sscorecard: {rules: [{name: acme, match: \"tenant:acme\", cap: %d}]}\n", more, n)
	}
	path := tempFile(t, text(5, ""))
	ctrl := control(t, path)
	look := looker(t, path, ctrl)
	look()
	acme := admission.Request{Tenant: "acme"}
	var running []admission.Ticket
	enter := func(want bool) {
		t.Helper()
		ticket, err := ctrl.TryAdmit(t.Context(), acme)
		if (err == nil) != want {
			t.Errorf("with %d running: %v, want entry %v", len(running), err, want)
		}
		if err == nil {
			running = append(running, ticket)
		}
	}
	leave := func() {
		running[0].Release(admission.Success)
		running = running[1:]
	}
	for range 5 {
		enter(true)
	}
	version := ctrl.Stats().Config.Version
	for range 100 {
		write(t, path, text(5, ""))
		look()
	}
	if now := ctrl.Stats().Config.Version; now != version {
		t.Errorf("the same file was applied %d times", now-version)
	}
	enter(false)
	write(t, path, text(5, "priorities: {default: t2}\n"))
	look()
	enter(false)
	write(t, path, text(2, ""))
	look()
	for len(running) > 2 {
		enter(false)
		leave()
	}
	enter(false)
	leave()
	enter(true)
	write(t, path, text(8, ""))
	look()
	for len(running) < 8 {
		enter(true)
	}
	enter(false)
	for len(running) > 0 {
		leave()
	}
}

// An error is logged once, with its position, however often the file is looked at.
func TestAWrongFileIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	path := tempFile(t, "{}")
	ctrl, err := admission.New(admission.Config{}, admission.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer ctrl.Close()
	look := looker(t, path, ctrl)
	write(t, path, "mode: shaddow\n")
	for range 3 {
		look()
	}
	if n := strings.Count(log.String(), "spillway.yaml:1:7"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
}

func TestWatchRefusesItsArguments(t *testing.T) {
	path := tempFile(t, "{}")
	ctrl := control(t, path)
	for name, err := range map[string]error{
		"nil Controller": Watch(t.Context(), path, nil), "without a name": Watch(t.Context(), "", ctrl),
		"poll is 1ms": Watch(t.Context(), path, ctrl, Poll(time.Millisecond)), "poll is -1s": Watch(t.Context(), path, ctrl, Poll(-time.Second)),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want one that says %s", err, name)
		}
	}
	if err := ctrl.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Watch(t.Context(), path, ctrl); !errors.Is(err, admission.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// Where the system tells nothing, polling finds the change.
func TestPoll(t *testing.T) {
	path := tempFile(t, capOf(20))
	ctrl := control(t, path)
	s := gather([]Option{Poll(20 * time.Millisecond)})
	s.check = checkFor(ctrl)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	w := watcher{path: path, ctrl: ctrl, settings: s}
	go func() { ended <- w.run(ctx) }()
	replace(t, path, capOf(30))
	soon(t, "the change is found", func() bool { return capNow(ctrl) == 30 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
