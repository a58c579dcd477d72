package report

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestWriteFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "on the way")
	r := made()
	for range 2 { // the second time over its own files
		if err := r.WriteFiles(dir); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 4 {
		t.Errorf("want four files and no other: %v", entries)
	}
	for name, write := range map[string]string{
		"shedcurve.json": written(t, r.WriteJSON), "shedcurve.csv": written(t, r.WriteCSV),
		"shedcurve.svg": written(t, r.WriteSVG), "shedcurve.html": written(t, r.WriteHTML),
	} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != write {
			t.Errorf("%s: not what its writer writes (%v)", name, err)
		}
	}
}

// What was there before is still there, whole, when new files cannot be made.
func TestWriteFilesKeepsTheOld(t *testing.T) {
	dir := t.TempDir()
	if err := made().WriteFiles(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "shedcurve.json")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := made()
	bad.DeadlineMS = -1
	if err := bad.WriteFiles(dir); err == nil {
		t.Error("a report that is not valid was written")
	}
	// A directory in the place of one file: that one fails, the others are written.
	csv := filepath.Join(dir, "shedcurve.csv")
	if err := errors.Join(os.Remove(csv), os.MkdirAll(filepath.Join(csv, "x"), 0o755)); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the old file is gone or changed (%v)", err)
	}
	other := made()
	other.Seed = 2
	if err := other.WriteFiles(dir); err == nil {
		t.Error("no error for the file that could not be written")
	}
	if after, err = os.ReadFile(path); err != nil || string(after) == string(before) {
		t.Errorf("one bad file kept another from being written (%v)", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("temporary files left: %v", left)
	}
}
