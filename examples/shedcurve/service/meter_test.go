package service

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A reset waits for the requests inside, and says so when it waits in vain.
func TestIdle(t *testing.T) {
	m := newMeter()
	defer m.Stop()
	inside, leave := make(chan struct{}), make(chan struct{})
	done := make(chan struct{})
	h := m.count(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(inside); <-leave }))
	go func() { h.ServeHTTP(nil, nil); close(done) }()
	<-inside
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := m.idle(ctx); err == nil || !strings.Contains(err.Error(), "1 requests are still inside") {
		t.Errorf("idle with a request inside: %v", err)
	}
	if u := m.usage(); u.Inflight != 1 {
		t.Errorf("inflight %d, want 1", u.Inflight)
	}
	close(leave)
	<-done
	if err := m.idle(t.Context()); err != nil {
		t.Error(err)
	}
	const many = 100
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range many {
		wg.Go(func() { <-stop })
	}
	high := m.usage().GoroutinesPeak
	close(stop)
	wg.Wait()
	m.Reset()
	if u := m.usage(); u.GoroutinesPeak > high-many/2 {
		t.Errorf("after a reset the peak is %d, it was %d with %d goroutines that have ended", u.GoroutinesPeak, high, many)
	}
}
