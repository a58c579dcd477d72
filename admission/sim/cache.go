package sim

import (
	"crypto/sha256"
	_ "embed" // the oracles of the scenarios in testdata
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/spillway-go/spillway/admission"
)

// version is part of the keys of kept oracles. It goes up when a change makes
// runs at a fixed limit come out otherwise.
const version = 1

//go:embed testdata/oracles.json
var committedJSON []byte

// committed is the oracles of the scenarios in testdata, by key.
var committed = sync.OnceValues(func() (map[string]Oracle, error) {
	var m map[string]Oracle
	err := json.Unmarshal(committedJSON, &m)
	return m, err
})

// Oracle is Sweep's result, kept: for the scenarios in testdata with four runs
// it comes with the package, others are looked up in the user's cache folder
// and swept, and put there, where they are missing. It may be called by several
// goroutines. A cache that cannot be read or written costs time only.
func (f Front) Oracle(cfg admission.Config, s Scenario, runs int) (Oracle, error) {
	key, err := f.key(cfg, s, runs)
	if err != nil {
		return Oracle{}, err
	}
	known, err := committed()
	if err != nil {
		return Oracle{}, fmt.Errorf("sim: committed oracles: %w", err)
	}
	if o, ok := known[key]; ok {
		return o, nil
	}
	dir, cacheErr := os.UserCacheDir()
	path := filepath.Join(dir, "spillway", "oracles", key+".json")
	if cacheErr == nil {
		if o, ok := read(path); ok {
			return o, nil
		}
	}
	o, err := f.Sweep(cfg, s, runs)
	if err == nil && cacheErr == nil {
		write(path, o)
	}
	return o, err
}

// key is a hash of all that an oracle depends on: the scenario but for its
// labels, and the lane but for its limit.
func (f Front) key(cfg admission.Config, s Scenario, runs int) (string, error) {
	s.Name, s.Family = "", ""
	lane := cfg.WithDefaults().Lanes[laneName]
	lane.Limit = admission.LimitConfig{}
	data, err := json.Marshal([]any{version, f, runs, cfg.Mode, lane, s})
	if err != nil {
		return "", fmt.Errorf("sim: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}

func read(path string) (o Oracle, ok bool) {
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &o) != nil {
		return Oracle{}, false
	}
	return o, o.Limit > 0 && len(o.Goodput) > 0
}

// write replaces the file whole, so that nobody reads half of one.
func write(path string, o Oracle) {
	data, err := json.Marshal(o)
	if err != nil || os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return
	}
	_, err = tmp.Write(data)
	if closeErr := tmp.Close(); err != nil || closeErr != nil || os.Rename(tmp.Name(), path) != nil {
		os.Remove(tmp.Name())
	}
}
