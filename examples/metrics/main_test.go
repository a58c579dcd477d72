package main

import (
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	if err := run("127.0.0.1:0", 3*time.Second); err != nil {
		t.Fatal(err)
	}
}
