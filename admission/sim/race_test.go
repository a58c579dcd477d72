//go:build race

package sim

// raceEnabled: a run is of one goroutine, so the race detector finds nothing in
// it and makes it ten times slower.
const raceEnabled = true
