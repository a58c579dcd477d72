package regulators

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

type psi struct {
	root     fs.FS
	resource string
	target   float64
}

// PSI returns a Signal that reads the kernel's pressure stall information: the
// share of time in which at least one task waited for resource ("cpu", "memory"
// or "io"), over target. It is that of the process's own cgroup (v2), everything in
// it included; of the host where the kernel keeps none for the group. See
// https://docs.kernel.org/accounting/psi.html.
//
// target must be above 0 and at most 1 and has no default. A fully used CPU makes
// somebody wait most of the time, so 0.5 or more is usual for cpu; a service that
// waits for memory a tenth of the time is in trouble.
//
// The reading is the kernel's moving average over 10 s (avg10), which it renews
// every 2 s: the totals it keeps beside it move in steps of 2 s too, so that a
// quicker reading of them would be noise. PSI is therefore a slow, second line;
// polling it more often than once a second gains nothing, and it should not be
// what binds day by day.
//
// It needs Linux 4.20 or later with PSI enabled; where there is nothing to read the
// error wraps [errors.ErrUnsupported]. A poll reads two files, some 10 to 100
// microseconds of system calls.
func PSI(resource string, target float64) (Signal, error) {
	root, err := hostRoot()
	if err != nil {
		return nil, fmt.Errorf("regulators: PSI is not available here: %w", err)
	}
	return newPSI(root, resource, target)
}

func newPSI(root fs.FS, resource string, target float64) (Signal, error) {
	var errs []error
	if !slices.Contains([]string{"cpu", "memory", "io"}, resource) {
		errs = append(errs, fmt.Errorf("regulators: resource of PSI is %q, must be cpu, memory or io", resource))
	}
	if !(target > 0 && target <= 1) {
		errs = append(errs, fmt.Errorf("regulators: target of PSI is %v, must be above 0 and at most 1", target))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	p := psi{root: root, resource: resource, target: target}
	if _, err := p.share(); err != nil {
		return nil, fmt.Errorf("regulators: PSI is not available here: %w: %w", errors.ErrUnsupported, err)
	}
	return p, nil
}

func (p psi) Pressure(context.Context) (float64, error) {
	share, err := p.share()
	if err != nil {
		return 0, fmt.Errorf("regulators: PSI of %s: %w", p.resource, err)
	}
	return share / p.target, nil
}

// share reads the innermost cgroup that keeps the file, else the host. That a
// file is there and cannot be read (psi=0) is an error, not a reason to look further.
func (p psi) share() (float64, error) {
	dirs, err := cgroupDirs(p.root)
	if err != nil {
		return 0, err
	}
	for _, dir := range dirs {
		share, err := readStall(p.root, path.Join(dir, p.resource+".pressure"))
		if !errors.Is(err, fs.ErrNotExist) {
			return share, err
		}
	}
	return readStall(p.root, "proc/pressure/"+p.resource)
}

// readStall reads avg10, in percent, from the line
// "some avg10=1.23 avg60=… avg300=… total=…".
func readStall(root fs.FS, file string) (float64, error) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "some" {
			continue
		}
		if average, found := strings.CutPrefix(words[1], "avg10="); found {
			percent, err := number(file, average)
			return percent / 100, err
		}
	}
	return 0, fmt.Errorf("regulators: %s has no line \"some avg10=…\"", file)
}
