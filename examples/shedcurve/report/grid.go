package report

import "strconv"

// grid is a table of figures that are already text. Terminal and page show the
// same grids, so they cannot disagree.
type grid struct {
	Title string
	Head  []string // the first two columns say which row it is: load and arm
	Rows  []gridRow
}

type gridRow struct {
	Lead    bool // first of the rows that belong together
	Invalid bool
	Cells   []string
}

// add appends a row for each point, the arms next to each other at each load.
func (g *grid) add(r Report, cells func(Point) []string) {
	for _, x := range r.loads() {
		lead := true
		for _, a := range r.Arms {
			for _, p := range a.Points {
				if p.X != x {
					continue
				}
				load := multiple(x) + "x"
				if !p.Valid {
					load = "!" + load
				}
				g.Rows = append(g.Rows, gridRow{
					Lead: lead, Invalid: !p.Valid,
					Cells: append([]string{load, a.Name}, cells(p)...),
				})
				lead = false
			}
		}
	}
}

// grids are the tables in the order of a reader's questions: is it good, good
// for whom, and what were the others told.
func (r Report) grids() []grid {
	if len(r.loads()) == 0 {
		return nil
	}
	gs := []grid{r.mainGrid()}
	if tiers := names(r.Arms, tiersOf); len(tiers) > 0 {
		gs = append(gs, r.tierGrid(tiers))
	}
	if reasons := names(r.Arms, reasonsOf); len(reasons) > 0 {
		gs = append(gs, r.reasonGrid(reasons))
	}
	return gs
}

func (r Report) mainGrid() grid {
	g := grid{
		Title: "Goodput, latency of the admitted, and what the service used",
		Head: []string{
			"load", "arm", "offered/s", "goodput/s", "of cap.", "p50 ms", "p99 ms",
			"shed", "failed", "goroutines", "heap MB", "cores",
		},
	}
	g.add(r, func(p Point) []string {
		var goroutines, heap, cores string
		if p.GoroutinesPeak != nil {
			goroutines = strconv.Itoa(*p.GoroutinesPeak)
		}
		if p.HeapPeakBytes != nil {
			heap = number(float64(*p.HeapPeakBytes) / 1e6)
		}
		if p.CPUSeconds != nil && p.DurationS > 0 {
			cores = strconv.FormatFloat(*p.CPUSeconds/p.DurationS, 'f', 2, 64)
		}
		return []string{
			number(p.OfferedRPS), number(p.GoodputRPS), share(p.GoodputRPS, r.capacity(p)),
			optional(p.AdmittedP50MS), optional(p.AdmittedP99MS),
			share(float64(p.Shed), float64(p.Offered)), share(float64(p.Failed), float64(p.Offered)),
			goroutines, heap, cores,
		}
	})
	return g
}

func (r Report) tierGrid(tiers []string) grid {
	g := grid{Title: "By tier: share of its requests that were good, and that were shed", Head: []string{"load", "arm"}}
	for _, t := range tiers {
		g.Head = append(g.Head, t+" good", t+" shed")
	}
	g.add(r, func(p Point) []string {
		var cells []string
		for _, name := range tiers {
			t := p.Tiers[name]
			cells = append(cells, share(float64(t.Good), float64(t.Offered)), share(float64(t.Shed), float64(t.Offered)))
		}
		return cells
	})
	return g
}

func (r Report) reasonGrid(reasons []string) grid {
	g := grid{
		Title: "Shed by reason, as a share of what was offered, and the retry hints in seconds",
		Head:  append([]string{"load", "arm", "hints", "values"}, reasons...),
	}
	g.add(r, func(p Point) []string {
		cells := []string{"", ""}
		if h := p.RetryAfter; h.Min != nil && h.Max != nil {
			cells = []string{number(*h.Min) + "-" + number(*h.Max), strconv.Itoa(h.Distinct)}
		}
		for _, name := range reasons {
			n, ok := p.Reasons[name]
			cell := ""
			if ok {
				cell = share(float64(n), float64(p.Offered))
			}
			cells = append(cells, cell)
		}
		return cells
	})
	return g
}
