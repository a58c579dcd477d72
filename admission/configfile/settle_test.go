package configfile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A file is read when it has been left alone for a while, and not later than after a
// while of never being left alone.
func TestSettling(t *testing.T) {
	var s settling
	t0 := time.Now()
	if _, ok := s.due(); ok {
		t.Error("due without a change")
	}
	for _, step := range []struct{ at, due time.Duration }{
		{0, quietFor},
		{50 * time.Millisecond, 50*time.Millisecond + quietFor},
		{150 * time.Millisecond, 150*time.Millisecond + quietFor},
		{390 * time.Millisecond, 390*time.Millisecond + quietFor},
		{500 * time.Millisecond, patience},
		{590 * time.Millisecond, patience},
	} {
		s.changed(t0.Add(step.at))
		if due, ok := s.due(); !ok || due.Sub(t0) != step.due {
			t.Errorf("changed at %v: due at %v, %v; want %v", step.at, due.Sub(t0), ok, step.due)
		}
	}
}

// All folders in which something can be put that makes the path lead elsewhere.
func TestFoldersOf(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(names ...string) string { return filepath.Join(append([]string{root}, names...)...) }
	for _, dir := range []string{in("plain"), in("map", "..1"), in("elsewhere")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{in("plain", "c.yaml"), in("map", "..1", "c.yaml"), in("elsewhere", "d.yaml")} {
		write(t, file, "{}")
	}
	for name, to := range map[string]string{
		in("map", "..data"): "..1", in("map", "c.yaml"): "..data/c.yaml", in("folder"): in("map"),
		in("plain", "link.yaml"): "../elsewhere/d.yaml", in("plain", "circle"): "circle", in("plain", "dangling"): in("elsewhere", "none"),
	} {
		if err := os.Symlink(to, name); err != nil {
			t.Skip(err)
		}
	}
	for path, want := range map[string][]string{
		in("plain", "c.yaml"):    {in("plain")},
		in("plain", "none.yaml"): {in("plain")},
		in("none", "c.yaml"):     {root},
		in("map", "c.yaml"):      {in("map"), in("map", "..1")},
		in("folder", "c.yaml"):   {root, in("map"), in("map", "..1")},
		in("plain", "link.yaml"): {in("elsewhere"), in("plain")},
		in("plain", "dangling"):  {in("elsewhere"), in("plain")},
		in("plain", "circle"):    {in("plain")},
	} {
		slices.Sort(want)
		if got, err := foldersOf(path); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", path, got, err, want)
		}
	}
}
