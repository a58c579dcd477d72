package main

import (
	"os"
	"testing"
)

// TestMain lets the test program be what the command is.
func TestMain(m *testing.M) {
	beOther()
	os.Exit(m.Run())
}
