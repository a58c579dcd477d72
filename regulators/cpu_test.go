package regulators

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

const procStat = `cpu  %d 0 0 %d 0 0 0 %d 500 0
cpu0 1 0 0 1 0 0 0 0 0 0
cpu1 1 0 0 1 0 0 0 0 0 0
intr 12345
`

func TestCPU(t *testing.T) {
	const app, pod = "sys/fs/cgroup/pod/app/", "sys/fs/cgroup/pod/"
	put := func(root fstest.MapFS, file, format string, args ...any) {
		root[file] = &fstest.MapFile{Data: fmt.Appendf(nil, format, args...)}
	}
	usage := func(root fstest.MapFS, dir string, used time.Duration) {
		put(root, dir+"cpu.stat", "usage_usec %d\nuser_usec 1\nnr_throttled 0\n", used.Microseconds())
	}
	type step struct {
		why  string
		do   func(root fstest.MapFS)
		want float64 // in a second since the step before; below 0: no reading
	}
	for name, steps := range map[string][]step{
		"own quota of two": {
			{"", func(r fstest.MapFS) {
				put(r, "proc/self/cgroup", "0::/pod/app\n")
				put(r, app+"cpu.max", "200000 100000\n")
				put(r, pod+"cpu.max", "max 100000\n")
				usage(r, app, time.Hour)
			}, 0},
			{"half of it", func(r fstest.MapFS) { usage(r, app, time.Hour+time.Second) }, 0.5},
			{"all of it", func(r fstest.MapFS) { usage(r, app, time.Hour+3*time.Second) }, 1},
			{"nothing", func(fstest.MapFS) {}, 0},
			{"counted anew", func(r fstest.MapFS) { usage(r, app, 0) }, 0},
			{"half the quota", func(r fstest.MapFS) { put(r, app+"cpu.max", "100000 100000\n"); usage(r, app, time.Second) }, 1},
			{"moved away", func(r fstest.MapFS) {
				put(r, "proc/self/cgroup", "0::/other\n")
				put(r, "sys/fs/cgroup/other/cpu.max", "100000 100000\n")
				usage(r, "sys/fs/cgroup/other/", time.Hour)
			}, -1},
			{"and settled", func(r fstest.MapFS) { usage(r, "sys/fs/cgroup/other/", time.Hour+time.Second/4) }, 0.25},
		},
		"the group above is tighter": {
			{"", func(r fstest.MapFS) {
				put(r, "proc/self/cgroup", "0::/pod/app\n")
				put(r, app+"cpu.max", "200000 100000\n")
				put(r, pod+"cpu.max", "400000 100000\n")
				usage(r, app, 0)
				usage(r, pod, 0)
			}, 0},
			{"neighbours use it up", func(r fstest.MapFS) { usage(r, app, time.Second); usage(r, pod, 4*time.Second) }, 1},
			{"neighbours rest", func(r fstest.MapFS) { usage(r, app, 2*time.Second); usage(r, pod, 5*time.Second) }, 0.5},
		},
		"host without cgroups": {
			{"", func(r fstest.MapFS) { put(r, "proc/stat", procStat, 100, 100, 0) }, 0},
			{"one of two busy", func(r fstest.MapFS) { put(r, "proc/stat", procStat, 200, 200, 0) }, 0.5},
			{"the other stolen", func(r fstest.MapFS) { put(r, "proc/stat", procStat, 300, 200, 100) }, 1},
		},
		"no quota in a cgroup": {
			{"", func(r fstest.MapFS) {
				put(r, "proc/self/cgroup", "0::/pod/app\n")
				put(r, app+"cpu.max", "max 100000\n")
				usage(r, app, 0)
				put(r, "proc/stat", procStat, 0, 0, 0)
			}, 0},
			{"the host's", func(r fstest.MapFS) { usage(r, app, time.Hour); put(r, "proc/stat", procStat, 150, 50, 0) }, 0.75},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			root := fstest.MapFS{}
			steps[0].do(root)
			s, err := newCPU(root, 0.8)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _, err := s.Pressure(t.Context()); !errors.Is(err, ErrNoReading) {
				t.Errorf("%s: at once: %v, want ErrNoReading", name, err)
			}
			for _, step := range steps[1:] {
				time.Sleep(time.Second)
				step.do(root)
				got, err := s.Pressure(t.Context())
				if step.want < 0 {
					if !errors.Is(err, ErrNoReading) {
						t.Errorf("%s, %s: %v, %v, want ErrNoReading", name, step.why, got, err)
					}
				} else if err != nil || math.Abs(got-step.want/0.8) > 1e-9 {
					t.Errorf("%s, %s: %v, %v, want %v", name, step.why, got, err, step.want/0.8)
				}
			}
		})
	}
}

func TestCPUErrors(t *testing.T) {
	for _, target := range []float64{0, -1, 1, math.NaN(), math.Inf(1)} {
		if s, err := newCPU(tree(nil), target); s != nil || err == nil || !strings.Contains(err.Error(), "target of CPU is ") {
			t.Errorf("target %v: %v, %v", target, s, err)
		}
	}
	const quota = "sys/fs/cgroup/cpu.max"
	for name, files := range map[string]map[string]string{
		"an empty system":  {},
		"quota of zero":    {"proc/self/cgroup": "0::/\n", quota: "0 100000\n"},
		"quota of words":   {"proc/self/cgroup": "0::/\n", quota: "much 100000\n"},
		"period missing":   {"proc/self/cgroup": "0::/\n", quota: "100000\n"},
		"usage missing":    {"proc/self/cgroup": "0::/\n", quota: "100000 100000\n"},
		"usage unreadable": {"proc/self/cgroup": "0::/\n", quota: "100000 100000\n", "sys/fs/cgroup/cpu.stat": "user_usec 1\n"},
		"stat empty":       {"proc/stat": "\n"},
		"stat nonsense":    {"proc/stat": "cpu a b c d e f g h\ncpu0 1\n"},
	} {
		if s, err := newCPU(tree(files), 0.9); s != nil || !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "CPU is not available here") {
			t.Errorf("%s: %v, %v, want errors.ErrUnsupported", name, s, err)
		}
	}
}
