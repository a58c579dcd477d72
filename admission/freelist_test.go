package admission

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// What a burst took is given back once the lane is idle.
func TestBurstsMemoryIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heap := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		c := NewQuiet(t, Config{Mode: Shadow})
		before := heap()
		tickets := make([]Ticket, 100_000)
		for i := range tickets {
			tickets[i], _ = c.Admit(context.Background(), Request{})
		}
		for _, ticket := range tickets {
			ticket.Release(Success)
		}
		clear(tickets)
		tickets = nil
		time.Sleep(time.Hour)
		grown := int64(heap()) - int64(before)
		t.Logf("the heap has grown by %d KiB", grown>>10)
		if grown > 4<<20 {
			t.Errorf("an hour after 100,000 requests the heap is %d MiB larger", grown>>20)
		}
	})
}
