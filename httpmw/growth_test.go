package httpmw_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
)

// B39: requests refused, requests that leave the queue, and requests that a time-out
// around the middleware gives up leave no goroutine, no timer and no memory, though
// each might have waited for half a minute.
func TestB39NothingIsLeftOfRequestsThatEnd(t *testing.T) {
	lane := admission.LaneConfig{Limit: admission.LimitConfig{Fixed: 1}, Gate: admission.GateConfig{Law: "off"}}
	lane.Queue.Capacity, lane.Queue.Law = 1000, "codel"
	lane.Queue.Target, lane.Queue.Interval = 29*time.Second, 30*time.Second
	ctrl, err := admission.New(admission.Config{Lanes: map[string]admission.LaneConfig{"default": lane}})
	if err != nil {
		t.Fatal(err)
	}
	defer ctrl.Close()
	slot, err := ctrl.Admit(t.Context(), admission.Request{})
	if err != nil {
		t.Fatal(err)
	}
	goroutines, heap := standing()

	for range 100_000 {
		if _, err := ctrl.TryAdmit(t.Context(), admission.Request{}); err == nil {
			t.Fatal("admitted")
		}
	}
	for range 100 { // of as many as the queue holds
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() { _, _ = ctrl.Admit(ctx, admission.Request{}) })
		}
		time.Sleep(time.Millisecond)
		cancel()
		wg.Wait()
	}
	slot.Release(admission.Ignore)

	h := http.TimeoutHandler(httpmw.Wrap(ctrl, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		time.Sleep(50 * time.Millisecond)
	})), 5*time.Millisecond, "late")
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() { h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)) })
	}
	wg.Wait()

	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		n, bytes := standing()
		if n <= goroutines+5 && bytes <= heap+10<<20 {
			return
		}
		if time.Since(begin) > 10*time.Second { // well below half a minute
			t.Fatalf("%d goroutines, %d bytes; at the start %d and %d", n, bytes, goroutines, heap)
		}
	}
}

// standing is how many goroutines and bytes of heap there are.
func standing() (goroutines, heap int) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return runtime.NumGoroutine(), int(m.HeapAlloc)
}
