//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuSeconds is the processor time this process has used, user and system.
func cpuSeconds() *float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return nil
	}
	s := time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	return &s
}
