package regulators

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// userHZ is how many ticks of /proc/stat make a second, on every architecture
// that Go runs on.
const userHZ = 100

type cpu struct {
	root   fs.FS
	target float64

	mu struct {
		sync.Mutex
		meters []meter
		at     time.Time
	}
}

// meter is one level at which the CPU is limited.
type meter struct {
	name string
	used float64 // CPU seconds ever
	cpus float64 // how many there are
}

// CPU returns a Signal for how busy the processors are that this process may use:
// CPU time used since the poll before, as a share of what there was, over target.
// Where cgroup v2 sets a quota (cpu.max) on the process's own group or one above
// it, that quota and what its group has used count, the tightest of them; without
// a quota the whole host counts, other programs and stolen time with it. A
// cpuset is not looked at.
//
// target must be above 0 and below 1 and has no default: 0.8 to 0.9 suits most.
// At 1 it would never be passed, as no more can be used than there is; the reading
// is at most 1/target (for a moment more under cpu.max.burst). For the same reason
// it does not say how much too much is asked for: [SchedLatency] does, and sees
// throttling within a period, and is to be preferred where the work is Go's.
//
// It needs Linux; where there is nothing to read the error wraps
// [errors.ErrUnsupported]. The first period starts with this call. A poll reads
// two files for each level of cgroups, or /proc/stat, some 10 to 200
// microseconds of system calls. All who poll one CPU share its periods: give each
// poller its own.
func CPU(target float64) (Signal, error) {
	root, err := hostRoot()
	if err != nil {
		return nil, fmt.Errorf("regulators: CPU is not available here: %w", err)
	}
	return newCPU(root, target)
}

func newCPU(root fs.FS, target float64) (Signal, error) {
	if !(target > 0 && target < 1) {
		return nil, fmt.Errorf("regulators: target of CPU is %v, must be above 0 and below 1", target)
	}
	c := &cpu{root: root, target: target}
	meters, err := readMeters(root)
	if err != nil {
		return nil, fmt.Errorf("regulators: CPU is not available here: %w: %w", errors.ErrUnsupported, err)
	}
	c.mu.meters, c.mu.at = meters, time.Now()
	return c, nil
}

func (c *cpu) Pressure(context.Context) (float64, error) {
	meters, err := readMeters(c.root)
	if err != nil {
		return 0, fmt.Errorf("regulators: CPU: %w", err)
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	before, elapsed := c.mu.meters, now.Sub(c.mu.at).Seconds()
	if elapsed <= 0 {
		return 0, fmt.Errorf("%w: no time has passed since the last poll of CPU", ErrNoReading)
	}
	c.mu.meters, c.mu.at = meters, now
	share, seen := 0.0, false
	for _, m := range meters {
		for _, b := range before {
			if m.name == b.name {
				// A counter that went back started again.
				share, seen = max(share, (m.used-b.used)/(elapsed*m.cpus)), true
			}
		}
	}
	if !seen {
		return 0, fmt.Errorf("%w: the process moved to another cgroup", ErrNoReading)
	}
	return share / c.target, nil
}

// readMeters reads each level that has a quota; where none has, the host.
func readMeters(root fs.FS) ([]meter, error) {
	dirs, err := cgroupDirs(root)
	if err != nil {
		return nil, err
	}
	var meters []meter
	for _, dir := range dirs {
		cpus, limited, err := cpuQuota(root, path.Join(dir, "cpu.max"))
		if err != nil {
			return nil, err
		}
		if !limited {
			continue
		}
		used, err := field(root, path.Join(dir, "cpu.stat"), "usage_usec")
		if err != nil {
			return nil, err
		}
		meters = append(meters, meter{name: dir, used: used / 1e6, cpus: cpus})
	}
	if len(meters) > 0 {
		return meters, nil
	}
	host, err := hostMeter(root)
	return []meter{host}, err
}

// cpuQuota reads "200000 100000": 200 ms of CPU time in each 100 ms, two CPUs.
func cpuQuota(root fs.FS, file string) (cpus float64, limited bool, err error) {
	found, err := words(root, file)
	if err != nil || len(found) == 0 || found[0] == "max" {
		return 0, false, err
	}
	if len(found) != 2 {
		return 0, false, fmt.Errorf("regulators: %s is %q, want a quota and a period", file, strings.Join(found, " "))
	}
	quota, err := number(file, found[0])
	if err != nil {
		return 0, false, err
	}
	period, err := number(file, found[1])
	if err != nil {
		return 0, false, err
	}
	if quota == 0 || period == 0 {
		return 0, false, fmt.Errorf("regulators: %s is %q, want numbers above 0", file, strings.Join(found, " "))
	}
	return quota / period, true, nil
}

// hostMeter reads the first line of /proc/stat, "cpu user nice system idle iowait
// irq softirq steal …", and counts the lines "cpuN" below it. Guests' time, which
// follows, is part of user's.
func hostMeter(root fs.FS) (meter, error) {
	const file = "proc/stat"
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return meter{}, err
	}
	host := meter{name: file}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "cpu" && len(words) >= 9:
			for i, word := range words[1:9] {
				ticks, err := number(file, word)
				if err != nil {
					return meter{}, err
				}
				if idle := i == 3 || i == 4; !idle {
					host.used += ticks / userHZ
				}
			}
		case strings.HasPrefix(words[0], "cpu"):
			if _, err := strconv.Atoi(words[0][len("cpu"):]); err == nil {
				host.cpus++
			}
		}
	}
	if host.cpus == 0 {
		return meter{}, fmt.Errorf("regulators: %s counts no CPU", file)
	}
	return host, nil
}
