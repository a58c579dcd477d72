package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
)

const (
	memory  = 64 << 20 // what the process may have in all
	goLimit = memory / 100 * 85
)

// process samples the memory that the Go runtime has of the system, as GOMEMLIMIT counts it, until ctx ends. It calls
// over when that is more than memory.
func process(ctx context.Context, over func()) (peak int64) {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		metrics.Read(samples)
		if peak = max(peak, int64(samples[0].Value.Uint64()-samples[1].Value.Uint64())); peak > memory {
			over()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return peak
		}
	}
}

// offerFiles has a new store sent 48 MiB of bulk and fifty small files a second, until the time is over or the
// memory is too much.
func offerFiles(t *testing.T, without ...string) (small, bulk load.Result, peak int64) {
	t.Helper()
	client := serve(t, without...)
	content := strings.Repeat("x", largest)
	mix := func(name string, size int) *load.Mix {
		return requests(t, func(r *rand.Rand) load.Request {
			return load.Request{Method: http.MethodPut, Path: fmt.Sprintf("/files/%s-%d", name, r.Uint32()), Body: content[:size]}
		})
	}
	debug.FreeOSMemory()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(goLimit))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	watched, ended := context.WithCancel(t.Context())
	defer ended()
	var loads, watch sync.WaitGroup
	watch.Go(func() { peak = process(watched, stop) })
	loads.Go(func() {
		bulk = offer(ctx, t, client, load.Config{
			Mix: mix("bulk", largest), Rate: 12, Duration: 4 * time.Second, Deadline: 10 * time.Second, Seed: seed,
		})
	})
	loads.Go(func() {
		small = offer(ctx, t, client, load.Config{ // counted when bulk has filled the bound
			Mix: mix("small", 1<<10), Rate: 50, WarmUp: time.Second, Duration: 3 * time.Second, Deadline: 10 * time.Second, Seed: seed + 1,
		})
	})
	loads.Wait()
	ended()
	watch.Wait()
	return small, bulk, peak
}

// Uploads of more than the memory there is leave the process within it, and small ones go on. Without their guard
// they do not.
func TestBulkStaysWithinMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 9 s")
	}
	small, bulk, peak := offerFiles(t)
	t.Logf("small files: %s; bulk of %d MiB: %s; memory at most %d of %d MiB",
		figures(small), bulk.Offered*largest>>20, figures(bulk), peak>>20, memory>>20)
	if peak > memory {
		t.Errorf("the process had %d bytes, want at most %d", peak, memory)
	}
	if small.Good*100 < small.Offered*99 {
		t.Errorf("small files: %s, want 99 %% good", figures(small))
	}
	if bulk.Good == 0 || bulk.Reasons["regulator"] == 0 {
		t.Errorf("bulk: %s, want some served and some shed by the guard", figures(bulk))
	}

	_, _, peak = offerFiles(t, "upload-bytes")
	t.Logf("without their guard: memory %d MiB, when it was stopped", peak>>20)
	if peak <= memory {
		t.Errorf("without a guard the process had %d bytes: this test shows nothing", peak)
	}
}
