package main

import (
	"fmt"
	"strings"
	"time"
)

// text is the findings as Markdown.
func (f *findings) text(peers []peer) string {
	var b strings.Builder
	for _, s := range shapes {
		fmt.Fprintf(&b, "\n## Shed curve: %s\n\nGoodput in %% of the capacity, and below it the p99 of what was admitted in ms (%d is the deadline), by offered load.\n\n",
			s.Name, deadline.Milliseconds())
		f.curveTable(&b, s.Name, peers, func(r result) string { return fmt.Sprintf("%.1f", 100*r.Goodput/capacity) })
		b.WriteByte('\n')
		f.curveTable(&b, s.Name, peers, func(r result) string { return fmt.Sprintf("%.0f", 1000*r.P99) })
		f.comparison(&b, s.Name, peers)
	}
	fmt.Fprintf(&b, "\n## Tiers at %gx\n\nServed in %% of what each tier asked for; t0 and t1 together ask for %.0f %% of the capacity.\n\n", tiersAt, 100*tiersAt*(tierShares[0]+tierShares[1]))
	f.tierTable(&b, peers)
	fmt.Fprintf(&b, "\n## Step from %gx to %gx\n\nSeconds until goodput stays at %.0f %% of the oracle's; – where it does not within %v.\n\n", stepFrom, stepTo, 100*settledShare, f.after)
	f.shapeTable(&b, peers, func(s shape, p peer) string { return f.settledText(s.Name, f.steps[s.Name][p.name]) })
	fmt.Fprintf(&b, "\n## One noisy tenant\n\nNine tenants ask for %.0f %% of the capacity together, and one for %.2fx. Served in %% of what the nine asked for.\n\n", 100*quietTenants*quietShare, noisyAt-quietTenants*quietShare)
	f.shapeTable(&b, peers, func(s shape, p peer) string {
		if !p.tenants {
			return ""
		}
		return fmt.Sprintf("%.1f", 100*f.noisy[s.Name][p.name].Quiet.share())
	})
	return b.String()
}

// label is a peer's row.
func label(p peer) string {
	if p.byHand {
		return p.name + " (set by hand)"
	}
	return p.name
}

func (f *findings) curveTable(b *strings.Builder, shape string, peers []peer, cell func(result) string) {
	tableHead(b, f.xs)
	b.WriteString("| oracle |")
	for _, o := range f.oracles[shape] {
		fmt.Fprintf(b, " %s |", cell(o.result))
	}
	b.WriteByte('\n')
	for _, p := range peers {
		fmt.Fprintf(b, "| %s |", label(p))
		for _, r := range f.points[shape][p.name] {
			fmt.Fprintf(b, " %s |", cell(r))
		}
		b.WriteByte('\n')
	}
}

// tierTable has those who tell tiers apart, and what becomes of t1 with all others.
func (f *findings) tierTable(b *strings.Builder, peers []peer) {
	b.WriteString("| peer | back end | t0 | t1 | t2 | t3 | t4 | t5 | t1 asked |\n|---|---|" + strings.Repeat("--:|", len(tierShares)+1) + "\n")
	at := f.index(tiersAt)
	for _, p := range peers {
		if !p.tiers {
			continue
		}
		for _, s := range shapes {
			r := f.points[s.Name][p.name][at]
			fmt.Fprintf(b, "| %s | %s |", label(p), s.Name)
			for _, t := range r.Tiers {
				fmt.Fprintf(b, " %.2f |", 100*t.share())
			}
			fmt.Fprintf(b, " %d |\n", r.Tiers[1].Offered)
		}
	}
}

// index of a load in xs, or -1.
func (f *findings) index(x float64) int {
	for i, v := range f.xs {
		if v == x {
			return i
		}
	}
	return -1
}

func (f *findings) shapeTable(b *strings.Builder, peers []peer, cell func(shape, peer) string) {
	b.WriteString("| peer |")
	for _, s := range shapes {
		fmt.Fprintf(b, " %s |", s.Name)
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(shapes)) + "\n")
	for _, p := range peers {
		row, empty := "| "+label(p)+" |", true
		for _, s := range shapes {
			c := cell(s, p)
			row += " " + c + " |"
			empty = empty && c == ""
		}
		if !empty {
			b.WriteString(row + "\n")
		}
	}
}

func (f *findings) settledText(shape string, r result) string {
	d, ok := settled(r, f.oracles[shape][f.index(stepTo)].Goodput)
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.2f", d.Round(time.Millisecond).Seconds())
}
