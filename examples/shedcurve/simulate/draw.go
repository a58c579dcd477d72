package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/admission/sim"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// draw makes a folder for each scenario: the shed curve of its back end, and
// the traces of its first run with each contender, side by side. Of a log without a
// capacity there is no curve.
func (o *options) draw(results []result) error {
	n := len(o.contenders)
	return parallel(len(o.scenarios), func(i int) error {
		s := o.scenarios[i]
		dir := filepath.Join(o.out, fileName(s.Name))
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if s.CapacityRPS > 0 {
			curve, err := o.curve(s)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
			if err := curve.WriteFiles(dir); err != nil {
				return err
			}
		}
		return drawTraces(filepath.Join(dir, "trace.svg"), results[i*n:(i+1)*n])
	})
}

// fileName keeps what a scenario is called within its folder.
func fileName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:`, r) || r < ' ' {
			return '_'
		}
		return r
	}, strings.Trim(name, ". "))
	if clean == "" {
		return "unnamed"
	}
	return clean
}

// Colours that most eyes tell apart, of Okabe and Ito.
var (
	blue   = color.RGBA{0x00, 0x72, 0xB2, 0xFF}
	orange = color.RGBA{0xE6, 0x9F, 0x00, 0xFF}
	green  = color.RGBA{0x00, 0x9E, 0x73, 0xFF}
	grey   = color.RGBA{0x6E, 0x77, 0x81, 0xFF}
)

// smoothing is over how many steps of a trace rates are averaged: a second.
const smoothing = 10

// drawTraces draws rates, limit and shed ratio over time, one below the other, of
// results side by side on the same scales.
func drawTraces(path string, results []result) (err error) {
	rows := make([][]*plot.Plot, 3)
	for i := range results {
		for k, p := range tracePanels(&results[i]) {
			rows[k] = append(rows[k], p)
		}
	}
	for _, row := range rows {
		most := slices.MaxFunc(row, func(a, b *plot.Plot) int { return cmp.Compare(a.Y.Max, b.Y.Max) }).Y.Max
		for _, p := range row {
			p.Y.Max = most
		}
	}
	n := len(results)
	width := 24*vg.Centimeter + vg.Length(n-1)*16*vg.Centimeter
	canvas := vgsvg.New(width, 20*vg.Centimeter)
	tiles := draw.Tiles{Rows: len(rows), Cols: n, PadX: vg.Points(16), PadY: vg.Points(8), PadRight: vg.Points(12)}
	for i, row := range plot.Align(rows, tiles, draw.New(canvas)) {
		for k, c := range row {
			rows[i][k].Draw(c)
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = canvas.WriteTo(f)
	return errors.Join(err, f.Close())
}

func tracePanels(r *result) [3]*plot.Plot {
	t := &r.reports[0].Trace
	rates := panel("per second", series{"asked", perSecond(t.Arrivals), grey}, series{"good", perSecond(t.Good), blue})
	rates.Title.Text = r.scenario.Name + " with " + r.contender.name
	limits := []series{{"limit", floats(t.Limit), orange}}
	if r.oracle != nil {
		best := make([]float64, len(t.Limit))
		for i := range best {
			best[i] = float64(r.oracle.Limit)
		}
		limits = append(limits, series{"best fixed", best, grey})
	}
	ratio := panel("shed ratio", series{"gate", t.ShedRatio, green})
	ratio.Y.Min, ratio.Y.Max = 0, 1
	ratio.X.Label.Text = "s"
	return [3]*plot.Plot{rates, panel("slots", limits...), ratio}
}

// series is a line: a value for each step of a trace.
type series struct {
	name   string
	values []float64
	color  color.Color
}

func panel(label string, all ...series) *plot.Plot {
	p := plot.New()
	p.Y.Label.Text, p.Y.Min = label, 0
	p.Legend.Top = true
	for _, s := range all {
		line := &plotter.Line{XYs: make(plotter.XYs, len(s.values)), LineStyle: draw.LineStyle{Color: s.color, Width: vg.Points(1.2)}}
		for i, v := range s.values {
			line.XYs[i] = plotter.XY{X: float64(i) * sim.TraceStep.Seconds(), Y: v}
		}
		p.Add(line)
		p.Legend.Add(s.name, line)
	}
	p.Y.Max *= 1.2 // room for the legend
	return p
}

func perSecond(counts []int) []float64 {
	out, sum := make([]float64, len(counts)), 0
	for i, n := range counts {
		sum += n
		if i >= smoothing {
			sum -= counts[i-smoothing]
		}
		out[i] = float64(sum) / (float64(min(i+1, smoothing)) * sim.TraceStep.Seconds())
	}
	return out
}

func floats(x []int) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}
