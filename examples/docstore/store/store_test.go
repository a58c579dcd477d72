package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func entries(n int) []Entry {
	all := make([]Entry, n)
	for i := range all {
		all[i] = Entry{Key: fmt.Sprintf("k%d", i%7), Value: fmt.Appendf(nil, "v%d", i)}
	}
	return all
}

// What one store has appended another can apply, in parts of any size, and then holds the same.
func TestApplyMakesTheSame(t *testing.T) {
	ctx := t.Context()
	a, b := open(t), open(t)
	if err := errors.Join(a.Append(ctx, entries(10)), a.Append(ctx, entries(13)), a.Append(ctx, nil)); err != nil {
		t.Fatal(err)
	}
	for n := 1; b.Last() < 23; n++ {
		some, err := a.After(ctx, b.Last(), n)
		if err != nil || len(some) == 0 {
			t.Fatalf("after %d: %d entries, %v", b.Last(), len(some), err)
		}
		if err := b.Apply(ctx, some); err != nil {
			t.Fatal(err)
		}
	}
	da, err1 := a.Digest(ctx)
	db, err2 := b.Digest(ctx)
	if err := errors.Join(err1, err2); err != nil || da != db || da == 0 {
		t.Errorf("digests %08x and %08x, %v", da, db, err)
	}
	if err := a.Append(ctx, []Entry{{Key: "empty"}}); err != nil {
		t.Error(err)
	}
	if v, err := a.Get(ctx, "empty"); len(v) != 0 || err != nil {
		t.Errorf("an empty value is %q, %v", v, err)
	}
	if v, err := b.Get(ctx, "k5"); string(v) != "v12" || err != nil {
		t.Errorf("k5 is %q, %v; want the last of its values, v12", v, err)
	}
	if _, err := b.Get(ctx, "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a key without value: %v", err)
	}
}

func TestApplyRefusesAGap(t *testing.T) {
	s := open(t)
	for _, indexes := range [][]int64{{2}, {0}, {1, 3}, {1, 1}} {
		var some []Entry
		for _, i := range indexes {
			some = append(some, Entry{Index: i, Key: "k"})
		}
		if err := s.Apply(t.Context(), some); err == nil || !strings.Contains(err.Error(), "is due") {
			t.Errorf("entries %v: %v", indexes, err)
		}
	}
	if s.Last() != 0 {
		t.Errorf("last is %d after nothing but errors", s.Last())
	}
}

func TestTrim(t *testing.T) {
	s := open(t)
	if err := errors.Join(s.Append(t.Context(), entries(9)), s.Trim(t.Context(), 6)); err != nil {
		t.Fatal(err)
	}
	left, err := s.After(t.Context(), 0, 100)
	if err != nil || len(left) != 3 || left[0].Index != 7 {
		t.Errorf("left %v, %v", left, err)
	}
}

// A copy goes on where the original was.
func TestCopy(t *testing.T) {
	ctx := t.Context()
	s, path := open(t), filepath.Join(t.TempDir(), "b.db")
	if err := errors.Join(s.Append(ctx, entries(9)), s.CopyTo(ctx, path)); err != nil {
		t.Fatal(err)
	}
	if err := s.CopyTo(ctx, path); err == nil {
		t.Error("a copy over another is no error")
	}
	c, err := Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	d1, _ := s.Digest(ctx)
	d2, _ := c.Digest(ctx)
	if c.Last() != 9 || d1 != d2 {
		t.Errorf("copy at %d with digest %08x, want 9 and %08x", c.Last(), d2, d1)
	}
}

// A check goes through all keys in steps and finds the value that has changed on disk.
func TestCheck(t *testing.T) {
	s := open(t)
	if err := s.Append(t.Context(), entries(7)); err != nil {
		t.Fatal(err)
	}
	steps := func() (n int, err error) {
		for key := ""; ; n++ {
			if key, err = s.Check(t.Context(), key, 3); key == "" || err != nil {
				return n, err
			}
		}
	}
	if n, err := steps(); n != 3 || err != nil {
		t.Errorf("%d steps, %v; want 3", n, err)
	}
	if _, err := s.db.ExecContext(t.Context(), `UPDATE kv SET value = 'rot' WHERE key = 'k4'`); err != nil {
		t.Fatal(err)
	}
	if _, err := steps(); err == nil || !strings.Contains(err.Error(), `"k4": checksum`) {
		t.Errorf("a rotten value: %v", err)
	}
}

// A write that fails takes nothing in, and the next one takes its place.
func TestFailedWriteLeavesNoGap(t *testing.T) {
	s := open(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Append(gone, entries(2)); err == nil {
		t.Fatal("no error")
	}
	if err := s.Append(t.Context(), entries(1)); err != nil || s.Last() != 1 {
		t.Errorf("last is %d, %v", s.Last(), err)
	}
}
