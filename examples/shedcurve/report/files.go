package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteFiles writes shedcurve.html, .svg, .csv and .json into dir, which it
// makes if need be. Each file is written under another name and renamed, so
// whoever interrupts it finds every file whole, old or new. A file that fails
// does not keep the others from being written; all errors are returned.
func (r Report) WriteFiles(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return errors.Join(
		replaceFile(filepath.Join(dir, "shedcurve.json"), r.WriteJSON),
		replaceFile(filepath.Join(dir, "shedcurve.csv"), r.WriteCSV),
		replaceFile(filepath.Join(dir, "shedcurve.svg"), r.WriteSVG),
		replaceFile(filepath.Join(dir, "shedcurve.html"), r.WriteHTML),
	)
}

func replaceFile(path string, write func(io.Writer) error) (err error) {
	// Drawn in memory first: most of the time goes there, and an interrupt
	// then leaves no half-written temporary file behind.
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return fmt.Errorf("report: %s: %w", filepath.Base(path), err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = fmt.Errorf("report: %w", err)
		}
	}()
	_, err = f.Write(b.Bytes())
	// CreateTemp makes files private; a report is there to be shared.
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
