package regulators

import (
	"fmt"
	"io/fs"
	"math"
	"testing"
	"testing/fstest"
)

// tree is a file system of the given files.
func tree(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

func TestCgroupMemoryLimit(t *testing.T) {
	const own, self = "sys/fs/cgroup/kube/pod/app/", "proc/self/cgroup"
	for name, tc := range map[string]struct {
		files   map[string]string
		want    float64 // 0: not limited
		wantErr bool
	}{
		"no proc":              {map[string]string{}, 0, false},
		"v1":                   {map[string]string{self: "5:memory:/kube\n1:name=systemd:/kube\n", "sys/fs/cgroup/memory.max": "100\n"}, 0, false},
		"own":                  {map[string]string{self: "0::/kube/pod/app\n", own + "memory.max": "4096\n"}, 4096, false},
		"own of several lines": {map[string]string{self: "1:name=systemd:/x\n0::/kube/pod/app\n", own + "memory.max": "4096\n"}, 4096, false},
		"unlimited":            {map[string]string{self: "0::/kube/pod/app\n", own + "memory.max": "max\n"}, 0, false},
		"the group above is less": {map[string]string{
			self: "0::/kube/pod/app\n", own + "memory.max": "4096\n", "sys/fs/cgroup/kube/pod/memory.max": "1024\n", "sys/fs/cgroup/kube/memory.max": "2048\n",
		}, 1024, false},
		"a namespace's root":        {map[string]string{self: "0::/\n", "sys/fs/cgroup/memory.max": "777\n"}, 777, false},
		"the host's name for it":    {map[string]string{self: "0::/docker/123\n", "sys/fs/cgroup/memory.max": "777\n"}, 777, false},
		"outside the namespace":     {map[string]string{self: "0::/../../sibling\n", "sys/fs/cgroup/memory.max": "777\n", "memory.max": "1\n"}, 777, false},
		"nonsense":                  {map[string]string{self: "0::/\n", "sys/fs/cgroup/memory.max": "lots\n"}, 0, true},
		"nonsense that is a number": {map[string]string{self: "0::/\n", "sys/fs/cgroup/memory.max": "-1\n"}, 0, true},
		"infinity":                  {map[string]string{self: "0::/\n", "sys/fs/cgroup/memory.max": "NaN\n"}, 0, true},
	} {
		got, limited, err := cgroupMemoryLimit(tree(tc.files))
		if got != tc.want || limited != (tc.want > 0) || (err != nil) != tc.wantErr {
			t.Errorf("%s: %v, %v, %v, want %v", name, got, limited, err, tc.want)
		}
	}
}

// On the machine at hand, whatever it has: a limit of the cgroup is one that the
// kernel names, and Heap goes by it.
func TestCgroupMemoryLimitHere(t *testing.T) {
	root, err := hostRoot()
	if err != nil {
		t.Skip(err)
	}
	limit, limited, err := cgroupMemoryLimit(root)
	if err != nil {
		t.Fatal(err)
	}
	named, err := fs.ReadFile(root, cgroupMount+"/memory.max") // of a container
	var outer float64
	if n, scanErr := fmt.Sscan(string(named), &outer); err == nil && n == 1 && scanErr == nil && (!limited || limit > outer) {
		t.Errorf("limit is %v (%v), but the mount's own memory.max is %s", limit, limited, named)
	}
	if !limited {
		t.Skip("no cgroup v2 limits this process")
	}
	if limit < mib || limit != math.Trunc(limit) {
		t.Errorf("limit is %v bytes", limit)
	}
	s, err := Heap(0)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := s.Pressure(t.Context()); err != nil || p <= 0 || p > 2 {
		t.Errorf("pressure %v, %v, with a limit of %v bytes", p, err, limit)
	}
}
