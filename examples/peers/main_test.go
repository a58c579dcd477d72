package main

import (
	"os"
	"testing"
)

// TestMain lets the test program be a bubble, as the command is.
func TestMain(m *testing.M) {
	if inBubble() {
		bubble()
	}
	os.Exit(m.Run())
}
