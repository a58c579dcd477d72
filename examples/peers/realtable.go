package main

import (
	"fmt"
	"slices"
	"strings"
)

// text is the findings as Markdown.
func (r *realtime) text(peers []peer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Shed curve: SQLite over HTTP\n\nThe service of shedcurve in a process of its own on one core, in real time: %.0f requests/s, limit %d where it is set by hand. "+
		"Goodput in %% of the capacity at the speed that the machine had then, ± its standard error, and (!) where the machine had another speed for more than half of the time or the generator was late; below it the p99 of what was admitted in ms (%d is the deadline), by offered load.\n\n",
		r.capacity, r.hand, r.deadline.Milliseconds())
	r.table(&b, peers, func(p point) string { return fmt.Sprintf("%.1f ± %.1f%s", 100*r.goodput(p), 100*r.spread(p), mark(p)) })
	b.WriteByte('\n')
	r.table(&b, peers, func(p point) string { return fmt.Sprintf("%.0f", 1000*r.result(p).P99) })
	compareTable(&b, peers, r.xs, func(i int) []standing { return r.compared(peers, i) })
	b.WriteString(r.verdict(peers) + "\n")
	if note := r.speed.Note(); note != "" {
		b.WriteString("\n" + note + "\n")
	}
	b.WriteString("\nt1, a third of what is asked for, served in %:\n\n")
	r.table(&b, slices.DeleteFunc(slices.Clone(peers), func(p peer) bool { return !p.tiers }),
		func(p point) string { return fmt.Sprintf("%.1f", 100*r.result(p).Tiers[1].share()) })
	return b.String()
}

// mark is set where the machine or the generator was in the way for more than half of the time.
func mark(p point) string {
	if p.trusted() {
		return ""
	}
	return " (!)"
}

func (r *realtime) table(b *strings.Builder, peers []peer, cell func(point) string) {
	tableHead(b, r.xs)
	for _, p := range peers {
		fmt.Fprintf(b, "| %s |", label(p))
		for _, at := range r.points[p.name] {
			fmt.Fprintf(b, " %s |", cell(at))
		}
		b.WriteByte('\n')
	}
}

// compared has the standings of all peers at one load.
func (r *realtime) compared(peers []peer, at int) []standing {
	var names []string
	var results []result
	for _, p := range peers {
		names, results = append(names, label(p)), append(results, r.result(r.points[p.name][at]))
	}
	return standings(names, results)
}

// verdict is about the first of the peers. It claims nothing that is less than the noise.
func (r *realtime) verdict(peers []peer) string {
	var shares, p99s, noise []float64
	for i, x := range r.xs {
		if x < verdictFrom {
			continue
		}
		s := r.compared(peers, i)[0]
		shares, p99s = append(shares, 100*s.share), append(p99s, s.p99)
		for _, p := range peers {
			noise = append(noise, 100*r.spread(r.points[p.name][i]))
		}
	}
	slices.Sort(noise)
	typical := noise[len(noise)/2]
	return fmt.Sprintf("\n%s, SQLite over HTTP: goodput %.1f to %.1f %% of the first's and p99 %.2f to %.2f times the lowest. The standard error of a goodput is %.1f %% of the capacity in the median and %.1f %% at most, so that two of them that differ by less than some %.0f %% are alike.",
		peers[0].name, slices.Min(shares), slices.Max(shares), slices.Min(p99s), slices.Max(p99s), typical, noise[len(noise)-1], 2*1.414*typical)
}
