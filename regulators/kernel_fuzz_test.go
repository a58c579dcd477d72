package regulators

import (
	"fmt"
	"math"
	"testing"
)

// FuzzKernelFiles: whatever the kernel's files hold, a pressure taken from them is
// finite and at least 0, or there is an error.
func FuzzKernelFiles(f *testing.F) {
	f.Add("0::/a/b\n", fmt.Sprintf(stall, "12.50"), "max", "usage_usec 7\n", "200000 100000", "cpu  1 2 3 4 5 6 7 8 9 10\n")
	f.Add("3:cpu:/a\n0::/../..\n", "some avg10=NaN", "1048576", "usage_usec -1", "max 100000", "cpu 1")
	f.Add("0::/", "some avg10=1e308 x\nsome", "0", "usage_usec 1e400", "0 0", "intr 3\ncpu  9 9 9 9\n")
	f.Fuzz(func(t *testing.T, group, stalled, memory, used, quota, stat string) {
		files := map[string]string{"proc/self/cgroup": group, "proc/stat": stat, "proc/pressure/io": stalled}
		for _, dir := range []string{"sys/fs/cgroup/", "sys/fs/cgroup/a/", "sys/fs/cgroup/a/b/"} {
			files[dir+"io.pressure"], files[dir+"memory.max"] = stalled, memory
			files[dir+"cpu.stat"], files[dir+"cpu.max"] = used, quota
		}
		root := tree(files)
		made := map[string]func() (Signal, error){
			"psi":  func() (Signal, error) { return newPSI(root, "io", 0.5) },
			"cpu":  func() (Signal, error) { return newCPU(root, 0.5) },
			"heap": func() (Signal, error) { return newHeap(root, 0) },
		}
		for name, make := range made {
			s, err := make()
			if err != nil {
				continue
			}
			for range 2 {
				if p, err := s.Pressure(t.Context()); err == nil && (math.IsInf(p, 0) || !(p >= 0)) {
					t.Errorf("%s: pressure %v", name, p)
				}
			}
		}
	})
}
