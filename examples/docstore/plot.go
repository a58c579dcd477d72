package main

import (
	"bytes"
	"fmt"
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Vermilion and blue of Okabe and Ito ("Color Universal Design", 2008), which stay apart for all common kinds of colour
// blindness.
var armColors = []color.RGBA{{0xD5, 0x5E, 0x00, 0xFF}, {0x00, 0x72, 0xB2, 0xFF}}

// writeSVG draws the lag over time, and by tier the share of writes that were shed.
func (r result) writeSVG(path string) error {
	lag, tierPlot := plot.New(), plot.New()
	lag.Title.Text, lag.X.Label.Text, lag.Y.Min = "Lag of the follower, entries", "seconds", 0
	tierPlot.Title.Text, tierPlot.Y.Label.Text = "Writes shed, by tier", "%"
	tierPlot.Y.Min, tierPlot.Y.Max = 0, 100
	for i, a := range r.Arms {
		var points plotter.XYs
		for _, p := range a.Lag {
			points = append(points, plotter.XY{X: p.S, Y: float64(p.Entries)})
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("drawing the lag of %s: %w", a.Name, err)
		}
		line.Color = armColors[i%len(armColors)]
		lag.Add(line)
		lag.Legend.Add(a.Name, line)

		var shares plotter.Values
		for _, t := range tiers {
			shares = append(shares, 100*float64(a.Tiers[t.name].Shed)/max(1, float64(a.Tiers[t.name].Offered)))
		}
		const width = vg.Length(16)
		bars, err := plotter.NewBarChart(shares, width)
		if err != nil {
			return fmt.Errorf("drawing the tiers of %s: %w", a.Name, err)
		}
		bars.Color, bars.LineStyle.Width = line.Color, 0
		bars.Offset = width * vg.Length(2*i-1) / 2
		tierPlot.Add(bars)
		tierPlot.Legend.Add(a.Name, bars)
	}
	bound := plotter.NewFunction(func(float64) float64 { return float64(r.LagBound) })
	bound.Dashes = []vg.Length{4, 4}
	lag.Add(bound)
	lag.Legend.Add("bound", bound)
	lag.Y.Max = max(lag.Y.Max, float64(r.LagBound)) * 1.3 // room for the legend
	lag.Legend.Top, tierPlot.Legend.Top, tierPlot.Legend.Left = true, true, true
	var names []string
	for _, t := range tiers {
		names = append(names, t.name)
	}
	tierPlot.NominalX(names...)

	canvas := vgsvg.NewWith(vgsvg.UseWH(900, 340))
	at := plot.Align([][]*plot.Plot{{lag, tierPlot}}, draw.Tiles{Rows: 1, Cols: 2, PadX: 30, PadTop: 10, PadBottom: 10, PadLeft: 10, PadRight: 20}, draw.New(canvas))
	lag.Draw(at[0][0])
	tierPlot.Draw(at[0][1])
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
