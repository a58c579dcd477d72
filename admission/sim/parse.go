package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Load reads a scenario from a JSON file, see [Parse], with the log that it
// names; or, if path ends in .csv, from a request log alone, see [ParseLog]. What
// a log says of no back end is then a plain delay: each request takes its own
// service time, however many there are.
func Load(path string) (Scenario, error) {
	f, err := os.Open(path)
	if err != nil {
		return Scenario{}, fmt.Errorf("sim: %w", err)
	}
	defer f.Close()
	var s Scenario
	if isLog(path) {
		s = Scenario{Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Family: "log", Backend: []Station{{Dist: Dist{Kind: distLog}}}}
		s.Requests, err = ParseLog(f)
	} else if s, err = readJSON(f); err == nil && s.Log != "" {
		s.Requests, err = readLog(filepath.Join(filepath.Dir(path), filepath.FromSlash(s.Log)))
	}
	if err == nil {
		s.fitLog()
		err = s.Validate()
	}
	if err != nil {
		return Scenario{}, fmt.Errorf("sim: in %s:\n%w", path, err)
	}
	return s, nil
}

func isLog(path string) bool { return strings.EqualFold(filepath.Ext(path), ".csv") }

func readLog(path string) ([]Logged, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("sim: log: %w", err)
	}
	defer f.Close()
	log, err := ParseLog(f)
	if err != nil {
		return nil, fmt.Errorf("sim: log %s:\n%w", path, err)
	}
	return log, nil
}

// Parse reads a scenario from JSON. Unknown fields and whatever follows the
// object are errors; so are a log, which only [Load] can find, and what
// [Scenario.Validate] finds.
func Parse(data []byte) (Scenario, error) {
	s, err := decode(data)
	if err == nil {
		err = s.Validate()
	}
	if err != nil {
		return Scenario{}, err
	}
	return s, nil
}

// maxBytes is the most that a scenario without its log may have.
const maxBytes = 16 << 20

func readJSON(r io.Reader) (Scenario, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return Scenario{}, fmt.Errorf("sim: %w", err)
	}
	if len(data) > maxBytes {
		return Scenario{}, fmt.Errorf("sim: must have at most %d bytes", maxBytes)
	}
	return decode(data)
}

func decode(data []byte) (Scenario, error) {
	var s Scenario
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return Scenario{}, fmt.Errorf("sim: %w, before byte %d", err, dec.InputOffset())
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Scenario{}, fmt.Errorf("sim: more than one JSON object, from byte %d", dec.InputOffset())
	}
	return s, nil
}
