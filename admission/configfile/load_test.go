package configfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/internal/admissiontest"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replace puts a new file in the place of path, as an editor or a deployment does.
func replace(t *testing.T, path, text string) {
	t.Helper()
	write(t, path+".new", text)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// control returns a controller with the file's config.
func control(t *testing.T, path string) *admission.Controller {
	t.Helper()
	cfg, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return admissiontest.Control(t, cfg)
}

// offer has clients ask one after the other until the returned function is called,
// which tells how many requests ran. Each must run or be shed: nothing else.
func offer(t *testing.T, ctrl *admission.Controller, clients int, r admission.Request) (stop func() int64) {
	var ran, over atomic.Int64
	var all sync.WaitGroup
	done := make(chan struct{})
	for range clients {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				err := ctrl.Do(context.Background(), r, func(context.Context) error { time.Sleep(time.Millisecond); return nil })
				switch {
				case err == nil:
					ran.Add(1)
				case errors.Is(err, admission.ErrShed):
					time.Sleep(time.Millisecond)
				default:
					over.Add(1)
					t.Errorf("a request came to neither: %v", err)
					return
				}
			}
		})
	}
	return func() int64 { close(done); all.Wait(); return ran.Load() }
}

// soon waits until something holds. The bound is for machines that stand still for
// seconds; the time it took is returned.
func soon(t *testing.T, what string, holds func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("still not after 20 s: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
	return time.Since(began)
}

// watched runs Watch without polling until the test ends.
func watched(t *testing.T, path string, ctrl *admission.Controller, opts ...Option) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	ctrl.RefuseConfig(errors.New("none was read so far")) // so that the first is applied in any case
	go func() { ended <- Watch(ctx, path, ctrl, append([]Option{Poll(time.Hour)}, opts...)...) }()
	soon(t, "the file is read at the start", func() bool { return ctrl.Stats().Config.Version == 2 })
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func tempFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spillway.yaml")
	write(t, path, text)
	return path
}
