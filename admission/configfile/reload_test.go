package configfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/admission"
)

// looker returns a function that looks at the file as Watch does when it has settled.
func looker(t *testing.T, path string, ctrl *admission.Controller) (look func()) {
	t.Helper()
	s := gather(nil)
	s.check = checkFor(ctrl)
	w := watcher{path: path, ctrl: ctrl, settings: s}
	return func() {
		t.Helper()
		if err := w.look(false); err != nil {
			t.Fatal(err)
		}
	}
}

// At the start nothing is applied where the file says what is in force, and else it is.
func TestStartAppliesOnlyAChange(t *testing.T) {
	path := tempFile(t, capOf(20))
	for n, applied := range map[int]uint64{20: 0, 21: 1} {
		ctrl := control(t, tempFile(t, capOf(20)))
		write(t, path, capOf(n))
		looker(t, path, ctrl)()
		if s := ctrl.Stats().Config; s.Version != 1+applied || capNow(ctrl) != n {
			t.Errorf("cap %d: %d configs applied, the cap is %d", n, s.Version-1, capNow(ctrl))
		}
		ctrl.RefuseConfig(errors.New("unreadable"))
		looker(t, path, ctrl)()
		if s := ctrl.Stats().Config; s.Version != 2+applied || s.Err != nil {
			t.Errorf("cap %d: after a refusal %d configs applied, %v", n, s.Version-1, s.Err)
		}
	}
}

// A thousand changed configs under load: nothing is lost, and nothing is left of them.
func TestAThousandReloads(t *testing.T) {
	path := tempFile(t, capOf(20))
	ctrl := control(t, path)
	look := looker(t, path, ctrl)
	stop := offer(t, ctrl, 16, admission.Request{Tenant: "acme"})
	reload := func(from, to int) {
		for n := from; n < to; n++ {
			replace(t, path, strings.Replace(capOf(1+n%30), "lanes: {", fmt.Sprintf("mode: %s\nlanes: {l%d: {}, ", admission.Mode(n%2), n%3), 1))
			look()
		}
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	reload(0, 100) // pools and tables have their size
	goroutines, before := runtime.NumGoroutine(), heap()
	reload(100, 1000)
	if s := ctrl.Stats().Config; s.Version != 1001 || s.Refused != 0 {
		t.Errorf("%d applied, %d refused, last error %v", s.Version-1, s.Refused, s.Err)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	// A plan alone is some kilobytes: 900 that stay would be seen.
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if stop() == 0 {
		t.Error("nothing ran")
	}
}

// A file that cannot be read leaves the last good limit in force: each release lets in
// exactly one of those that wait. A field left out is none of those: it is the default.
func TestB15UnreadableIsNotZero(t *testing.T) {
	text := "lanes: {default: {limit: {fixed: 5}, deadline: 1h}}\n"
	path := tempFile(t, text)
	ctrl := control(t, path)
	look := looker(t, path, ctrl)
	look()
	var running []admission.Ticket
	for range 5 {
		ticket, err := ctrl.Admit(t.Context(), admission.Request{})
		if err != nil {
			t.Fatal(err)
		}
		running = append(running, ticket)
	}
	admitted := make(chan admission.Ticket, 10)
	for range 10 {
		go func() {
			ticket, err := ctrl.Admit(context.Background(), admission.Request{})
			if err != nil {
				t.Error(err)
			}
			admitted <- ticket
		}()
	}
	lane := func() admission.LaneStats { return ctrl.Stats().Lanes[0] }
	waiting := 10
	soon(t, "all wait", func() bool { return lane().Queued[admission.T3] == waiting })
	version := ctrl.Stats().Config.Version
	for i, spoil := range []func(){
		func() { _ = os.Remove(path) },
		func() { _ = os.Mkdir(path, 0o755) }, // there, but not to be read, also not by root
		func() { _ = os.Remove(path); write(t, path, "lanes: {default: {limit: {fixed: 5}") },
		func() { write(t, path, "lanes: {default: {limit: {fixed:}}}") },
		func() { write(t, path, "") },
	} {
		spoil()
		running[i].Release(admission.Success)
		look()
		look() // nobody is told twice
		waiting--
		soon(t, "one is let in", func() bool { return lane().Queued[admission.T3] == waiting })
		if l, s := lane(), ctrl.Stats().Config; l.Inflight != 5 || l.Limit != 5 || s.Version != version || s.Refused != uint64(i+1) || s.Err == nil {
			t.Errorf("step %d: inflight %d, limit %d, %+v", i, l.Inflight, l.Limit, s)
		}
	}
	// As it was, it is good again, and that is told.
	write(t, path, text)
	look()
	if s := ctrl.Stats().Config; s.Version != version+1 || s.Err != nil {
		t.Errorf("after all: %+v", s)
	}
	for range 10 {
		(<-admitted).Release(admission.Success)
	}
}

// What a reload must keep, and what it must not: counts and limits stay, caps change.
func TestB27ReloadsKeepCounts(t *testing.T) {
	text := func(n int, more string) string {
		return fmt.Sprintf("lanes: {default: {limit: {fixed: 20}}}\n%sscorecard: {rules: [{name: acme, match: \"tenant:acme\", cap: %d}]}\n", more, n)
	}
	path := tempFile(t, text(5, ""))
	ctrl := control(t, path)
	look := looker(t, path, ctrl)
	look()
	acme := admission.Request{Tenant: "acme"}
	var running []admission.Ticket
	enter := func(want bool) {
		t.Helper()
		ticket, err := ctrl.TryAdmit(t.Context(), acme)
		if (err == nil) != want {
			t.Errorf("with %d running: %v, want entry %v", len(running), err, want)
		}
		if err == nil {
			running = append(running, ticket)
		}
	}
	leave := func() {
		running[0].Release(admission.Success)
		running = running[1:]
	}
	for range 5 {
		enter(true)
	}
	version := ctrl.Stats().Config.Version
	for range 100 {
		write(t, path, text(5, ""))
		look()
	}
	if now := ctrl.Stats().Config.Version; now != version {
		t.Errorf("the same file was applied %d times", now-version)
	}
	enter(false)
	write(t, path, text(5, "priorities: {default: t2}\n"))
	look()
	enter(false)
	write(t, path, text(2, ""))
	look()
	for len(running) > 2 {
		enter(false)
		leave()
	}
	enter(false)
	leave()
	enter(true)
	write(t, path, text(8, ""))
	look()
	for len(running) < 8 {
		enter(true)
	}
	enter(false)
	for len(running) > 0 {
		leave()
	}
}

// An error is logged once, with its position, however often the file is looked at.
func TestAWrongFileIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	path := tempFile(t, "{}")
	ctrl, err := admission.New(admission.Config{}, admission.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer ctrl.Close()
	look := looker(t, path, ctrl)
	write(t, path, "mode: shaddow\n")
	for range 3 {
		look()
	}
	if n := strings.Count(log.String(), "spillway.yaml:1:7"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
}
