package simulate

import (
	"errors"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strings"

	"github.com/spillway-go/spillway/admission/sim"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// draw makes a folder for each scenario: the shed curve of its back end, and
// the trace of its first run.
func (o *options) draw(results []result) error {
	return parallel(len(results), func(i int) error {
		r := &results[i]
		dir := filepath.Join(o.out, fileName(r.scenario.Name))
		curve, err := o.curve(r.scenario)
		if err != nil {
			return fmt.Errorf("%s: %w", r.scenario.Name, err)
		}
		if err := curve.WriteFiles(dir); err != nil {
			return err
		}
		return drawTrace(filepath.Join(dir, "trace.svg"), r)
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

// drawTrace draws rates, limit and shed ratio over time, one below the other.
func drawTrace(path string, r *result) (err error) {
	t := &r.reports[0].Trace
	rates := panel("per second", series{"asked", perSecond(t.Arrivals), grey}, series{"good", perSecond(t.Good), blue})
	rates.Title.Text = r.scenario.Name
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
	rows := [][]*plot.Plot{{rates}, {panel("slots", limits...)}, {ratio}}

	canvas := vgsvg.New(24*vg.Centimeter, 20*vg.Centimeter)
	tiles := draw.Tiles{Rows: len(rows), Cols: 1, PadY: vg.Points(8), PadRight: vg.Points(12)}
	for i, row := range plot.Align(rows, tiles, draw.New(canvas)) {
		rows[i][0].Draw(row[0])
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = canvas.WriteTo(f)
	return errors.Join(err, f.Close())
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
