package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	tableColumns = 120 // as wide as a terminal may be taken to be
	cellColumns  = 24  // room for any name of ours, and a bound for those of others
)

// WriteTable writes the report for a terminal, at most 120 columns wide: the
// arms next to each other at each load, first the whole, then by tier, then by
// reason. A load marked with ! is of an invalid point.
func (r Report) WriteTable(w io.Writer) error {
	r, err := r.prepared()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, g := range r.grids() {
		fmt.Fprintf(&b, "%s\n", g.Title)
		g.text(&b)
		b.WriteByte('\n')
	}
	if r.anyInvalid() {
		b.WriteString("! the generator lagged here, or the machine was too fast or slow: not to be trusted\n")
	}
	var facts []string
	for _, c := range r.conditions() {
		facts = append(facts, c[0]+" "+printable(c[1]))
	}
	for line := range slices.Chunk(facts, 4) {
		fmt.Fprintln(&b, strings.Join(line, ", "))
	}
	for _, s := range []string{r.headline(), r.leftOut(), r.Note} {
		if s != "" {
			fmt.Fprintln(&b, printable(s))
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// text writes the grid in as many parts as its columns need, each led by the
// two columns that name the row.
func (g grid) text(b *strings.Builder) {
	widths := make([]int, len(g.Head))
	for i, h := range g.Head {
		widths[i] = utf8.RuneCountInString(cut(h))
		for _, row := range g.Rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(cut(row.Cells[i])))
		}
	}
	for first := 2; first < len(g.Head); {
		cols, used := []int{0, 1}, widths[0]+2+widths[1]
		for ; first < len(g.Head); first++ {
			used += 2 + widths[first]
			if used > tableColumns && len(cols) > 2 {
				break
			}
			cols = append(cols, first)
		}
		line(b, g.Head, cols, widths)
		for _, row := range g.Rows {
			line(b, row.Cells, cols, widths)
		}
	}
}

func line(b *strings.Builder, cells []string, cols, widths []int) {
	var l strings.Builder
	for _, i := range cols {
		fmt.Fprintf(&l, "%*s  ", widths[i], cut(cells[i]))
	}
	b.WriteString(strings.TrimRight(l.String(), " "))
	b.WriteByte('\n')
}

func cut(s string) string {
	s = printable(s)
	if utf8.RuneCountInString(s) > cellColumns {
		return string([]rune(s)[:cellColumns-1]) + "…"
	}
	return s
}

// printable keeps what a foreign service calls its reasons from steering the
// terminal.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, s)
}
