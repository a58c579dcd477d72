//go:build !unix

package main

// cpuSeconds is not known here.
func cpuSeconds() *float64 { return nil }
