package configfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/internal/admissiontest"
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
			ctrl := admissiontest.Control(t, cfg)
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
