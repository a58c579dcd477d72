package regulators

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// cgroupMount is where cgroup v2 is by convention. On a host that still has v1 for
// its controllers there is nothing here that we look for, so that it counts as
// one without limits.
const cgroupMount = "sys/fs/cgroup"

// cgroupDirs returns the folders of this process's cgroup and of those above it,
// its own first; none where there is no cgroup v2. Limits hold at each level, so
// all are to be asked. In a container with the host's view of names but only its own
// group mounted, the lower ones do not exist and the last one is its own.
func cgroupDirs(root fs.FS) ([]string, error) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var dirs []string
	for line := range strings.Lines(string(text)) {
		group, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::/")
		if !found {
			continue // a hierarchy of v1
		}
		// Clean keeps the ".." of a group outside the namespace within the mount.
		for group = path.Clean("/" + group); group != "/"; group = path.Dir(group) {
			dirs = append(dirs, path.Join(cgroupMount, group))
		}
		dirs = append(dirs, cgroupMount)
	}
	return dirs, nil
}

// field returns the number that stands behind a name at the start of a line, as
// in "usage_usec 1234".
func field(root fs.FS, file, name string) (float64, error) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 2 && words[0] == name {
			return number(file, words[1])
		}
	}
	return 0, fmt.Errorf("regulators: %s has no %s", file, name)
}

// words returns the words of a file, or none when there is no such file.
func words(root fs.FS, file string) ([]string, error) {
	text, err := fs.ReadFile(root, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(text)), err
}

func number(file, word string) (float64, error) {
	n, err := strconv.ParseFloat(word, 64)
	if err == nil {
		n, err = checked(file, n)
	}
	if err != nil {
		return 0, fmt.Errorf("regulators: %s: %q is no number of at least 0", file, word)
	}
	return n, nil
}

// cgroupMemoryLimit returns the least memory.max of the process's cgroups in
// bytes; false where none limits it.
func cgroupMemoryLimit(root fs.FS) (limit float64, limited bool, err error) {
	dirs, err := cgroupDirs(root)
	if err != nil {
		return 0, false, err
	}
	for _, dir := range dirs {
		file := path.Join(dir, "memory.max")
		found, err := words(root, file)
		if err != nil {
			return 0, false, err
		}
		if len(found) == 0 || found[0] == "max" {
			continue
		}
		n, err := number(file, found[0])
		if err != nil {
			return 0, false, err
		}
		if !limited || n < limit {
			limit, limited = n, true
		}
	}
	return limit, limited, nil
}
