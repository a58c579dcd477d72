package configfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one thing that is wrong with a file. What [Parse] and [Load] return is one
// or more of them, joined, in the order of their positions.
type Error struct {
	File         string
	Line, Column int    // from 1; 0: of no place in the file, such as an environment variable
	Path         string // such as lanes["read"].limit.min; empty: the file as a whole
	Value        string // as it stands there; empty where there is none to show
	Rule         string // what it must be
	Hint         string // what was probably meant; or empty
}

// Error is one line: where, what it is, what it must be, what was probably meant.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Path != "" || e.Value != "" {
		b.WriteString(cmp.Or(e.Path, "the file"))
		if e.Value != "" {
			b.WriteString(" is " + e.Value)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Rule)
	if e.Hint != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Hint)
	}
	return b.String()
}

// most is how many errors are told of one file.
const most = 100

// inOrder puts errors in the order in which one reads the file. Those of one place stay
// as they came.
func inOrder(all []*Error) (sorted []error) {
	slices.SortStableFunc(all, func(a, b *Error) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column)
	})
	for i, e := range all {
		if i == most {
			return append(sorted, fileError(e.File, fmt.Sprintf("has %d more errors", len(all)-most)))
		}
		sorted = append(sorted, e)
	}
	return sorted
}

// nearest is the name that was probably meant: the one with the fewest slips of the
// finger between them, if they are few for its length.
func nearest(name string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := slips(name, k); d < least && d <= max(1, (len(k)+1)/3) {
			best, least = k, d
		}
	}
	return best
}

// slips is the number of letters to add, drop, change or swap with their neighbour
// (optimal string alignment), whatever the case.
func slips(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if len(a) > 64 || len(b) > 64 {
		return len(a) + len(b)
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j]+change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
