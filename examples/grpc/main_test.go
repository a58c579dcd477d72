package main

import (
	"testing"
	"time"
)

func TestRuns(t *testing.T) {
	if err := run(200 * time.Millisecond); err != nil {
		t.Error(err)
	}
	srv, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	srv.Stop()
}
