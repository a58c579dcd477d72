//go:build !unix

package service

// CPUSeconds is not known here.
func CPUSeconds() *float64 { return nil }
