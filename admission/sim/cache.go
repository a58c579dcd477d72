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
// labels, and the lane but for its limit. What is left at zero is left out, so
// that a field that a config or the format gets later changes no key.
func (f Front) key(cfg admission.Config, s Scenario, runs int) (string, error) {
	_, lane, err := laneOf(cfg, &s)
	if err != nil {
		return "", err
	}
	s.Name, s.Family, s.Log = "", "", ""
	lane.Limit = admission.LimitConfig{}
	data, err := json.Marshal(map[string]any{
		"version": version, "front": f.String(), "runs": runs, "mode": cfg.Mode.String(), "lane": lane, "scenario": s, "requests": s.Requests,
	})
	if err != nil {
		return "", fmt.Errorf("sim: %w", err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return "", fmt.Errorf("sim: %w", err)
	}
	if data, err = json.Marshal(prune(tree)); err != nil {
		return "", fmt.Errorf("sim: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}

// prune takes the zero values out of objects; nil if nothing is left.
func prune(tree any) any {
	switch v := tree.(type) {
	case map[string]any:
		for name, field := range v {
			if v[name] = prune(field); v[name] == nil {
				delete(v, name)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i, field := range v {
			if field = prune(field); field != nil {
				v[i] = field // a zero in a list has its place
			}
		}
	case string:
		if v == "" {
			return nil
		}
	case float64:
		if v == 0 {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	}
	return tree
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
