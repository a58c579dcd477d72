// Package race tells tests whether the race detector watches: all is then some ten
// times slower, and what is timed or is of one goroutine alone is best left out.
package race
