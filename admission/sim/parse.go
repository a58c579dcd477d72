package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Load reads a scenario from a JSON file; see [Parse].
func Load(path string) (Scenario, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Scenario{}, fmt.Errorf("sim: %w", err)
	}
	s, err := Parse(data)
	if err != nil {
		return Scenario{}, fmt.Errorf("sim: in %s:\n%w", path, err)
	}
	return s, nil
}

// Parse reads a scenario from JSON. Unknown fields and whatever follows the
// object are errors; so is what [Scenario.Validate] finds.
func Parse(data []byte) (Scenario, error) {
	var s Scenario
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return Scenario{}, fmt.Errorf("sim: %w, before byte %d", err, dec.InputOffset())
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Scenario{}, fmt.Errorf("sim: more than one JSON object, from byte %d", dec.InputOffset())
	}
	if err := s.Validate(); err != nil {
		return Scenario{}, err
	}
	return s, nil
}
