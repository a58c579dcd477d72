package main

import (
	"fmt"
	"slices"
	"strings"
)

// What the first of all is held to, at every load of verdictFrom and more.
const (
	verdictFrom = 1.0
	nearFirst   = 0.97 // of the best goodput in the column
	rivals      = 0.95 // of it: those whose latency counts
	nearLowest  = 1.2  // times the lowest p99 of those
)

// standing is how one result compares with what the others do at the same load.
type standing struct {
	share     float64 // of the best goodput
	best      string
	p99       float64 // times the lowest of those that come near the best goodput
	lowestP99 string
}

// standings compares the results of peers with each other, not with the oracle: that one knows the load.
func standings(names []string, results []result) []standing {
	first := 0
	for i, r := range results {
		if r.Goodput > results[first].Goodput {
			first = i
		}
	}
	lowest := first
	for i, r := range results {
		if r.Goodput >= rivals*results[first].Goodput && r.P99 < results[lowest].P99 {
			lowest = i
		}
	}
	all := make([]standing, len(results))
	for i, r := range results {
		all[i] = standing{r.Goodput / results[first].Goodput, names[first], r.P99 / results[lowest].P99, names[lowest]}
	}
	return all
}

// compared has the standings of all peers at one load.
func (f *findings) compared(shape string, peers []peer, at int) []standing {
	var names []string
	var results []result
	for _, p := range peers {
		names, results = append(names, label(p)), append(results, f.points[shape][p.name][at])
	}
	return standings(names, results)
}

// compareTable has each peer's goodput as a share of the best and its p99 as a multiple of the lowest.
func compareTable(b *strings.Builder, peers []peer, xs []float64, compared func(at int) []standing) {
	fmt.Fprintf(b, "\nGoodput in %% of the best peer's at that load / p99 as a multiple of the lowest among those within %.0f %% of it:\n\n", 100*(1-rivals))
	rows := make([]string, len(peers))
	first := slices.IndexFunc(xs, func(x float64) bool { return x >= verdictFrom })
	for i := first; i < len(xs); i++ {
		for k, s := range compared(i) {
			rows[k] += fmt.Sprintf(" %.1f / %.2f |", 100*s.share, s.p99)
		}
	}
	tableHead(b, xs[first:])
	for k, p := range peers {
		b.WriteString("| " + label(p) + " |" + rows[k] + "\n")
	}
}

// tableHead has a column for each load.
func tableHead(b *strings.Builder, xs []float64) {
	b.WriteString("| peer |")
	for _, x := range xs {
		fmt.Fprintf(b, " %gx |", x)
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(xs)) + "\n")
}

// comparison has how the peers compare, and below that what it means for the first of them.
func (f *findings) comparison(b *strings.Builder, shape string, peers []peer) {
	if len(peers) == 0 {
		return
	}
	compareTable(b, peers, f.xs, func(at int) []standing { return f.compared(shape, peers, at) })
	var misses []string
	for i, x := range f.xs {
		if x >= verdictFrom {
			misses = append(misses, missed(x, f.compared(shape, peers, i)[0])...)
		}
	}
	fmt.Fprintf(b, "\n%s, %s: ", peers[0].name, shape)
	if len(misses) == 0 {
		fmt.Fprintf(b, "first or within %.0f %% of the first in goodput at every load, and its p99 within %.0f %% of the lowest.\n", 100*(1-nearFirst), 100*(nearLowest-1))
		return
	}
	fmt.Fprintf(b, "not within %.0f %% of the first in goodput or %.0f %% of the lowest p99 at %s.\n", 100*(1-nearFirst), 100*(nearLowest-1), strings.Join(misses, "; "))
}

// missed tells what a standing lacks.
func missed(x float64, s standing) (what []string) {
	if s.share < nearFirst {
		what = append(what, fmt.Sprintf("%gx (goodput %.1f %% of that of %s)", x, 100*s.share, s.best))
	}
	if s.p99 > nearLowest {
		what = append(what, fmt.Sprintf("%gx (p99 %.2f times that of %s)", x, s.p99, s.lowestP99))
	}
	return what
}
