//go:build unix

package service

import (
	"syscall"
	"time"
)

// CPUSeconds is the processor time this process has used, user and system.
func CPUSeconds() *float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return nil
	}
	s := time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	return &s
}
