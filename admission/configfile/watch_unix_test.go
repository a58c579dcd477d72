//go:build unix

package configfile

import (
	"os"
	"syscall"
	"testing"
)

// SIGHUP has the file read and applied, be it the same as before.
func TestOnHangup(t *testing.T) {
	path := tempFile(t, "{}")
	ctrl := control(t, path)
	watched(t, path, ctrl, OnHangup())
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	soon(t, "it is applied again", func() bool { return ctrl.Stats().Config.Version == 3 })
}
