package main

import (
	"bytes"
	"image/color"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// picture is the shed curves as SVG: a column for each back end, goodput above and p99 below.
func (f *findings) picture(peers []peer) ([]byte, error) {
	panels := make([][]*plot.Plot, 2)
	for _, s := range shapes {
		goodput, p99 := plot.New(), plot.New()
		goodput.Title.Text = s.Name
		goodput.Y.Label.Text = "goodput, % of capacity"
		p99.Y.Label.Text = "p99 of the admitted, ms"
		p99.X.Label.Text = "offered load, multiples of capacity"
		for row, p := range []*plot.Plot{goodput, p99} {
			p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ticks(f.xs)
			p.Y.Min = 0
			p.Legend.Top, p.Legend.TextStyle.Font.Size = true, 6
			if err := f.draw(p, s.Name, row, peers); err != nil {
				return nil, err
			}
			panels[row] = append(panels[row], p)
		}
		panels[0][len(panels[0])-1].Legend = plot.NewLegend() // one below is enough
	}
	canvas := vgsvg.New(36*vg.Centimeter, 22*vg.Centimeter)
	tiles := draw.Tiles{Rows: 2, Cols: len(shapes), PadX: vg.Centimeter / 2, PadY: vg.Centimeter / 2}
	for row, canvases := range plot.Align(panels, tiles, draw.New(canvas)) {
		for col, c := range canvases {
			panels[row][col].Draw(c)
		}
	}
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return b.Bytes(), err
}

// draw adds a line for each peer, and the oracle's.
func (f *findings) draw(p *plot.Plot, shape string, row int, peers []peer) error {
	value := func(r result) float64 {
		if row == 0 {
			return 100 * r.Goodput / capacity
		}
		return 1000 * r.P99
	}
	line := func(label string, at func(i int) result, style draw.LineStyle) error {
		xys := make(plotter.XYs, len(f.xs))
		for i, x := range f.xs {
			xys[i].X, xys[i].Y = x, value(at(i))
		}
		l, err := plotter.NewLine(xys)
		if err != nil {
			return err
		}
		l.LineStyle = style
		p.Add(l)
		p.Legend.Add(label, l)
		return nil
	}
	black := draw.LineStyle{Color: color.Gray{Y: 90}, Width: vg.Points(1), Dashes: []vg.Length{4, 3}}
	if err := line("oracle", func(i int) result { return f.oracles[shape][i].result }, black); err != nil {
		return err
	}
	for k, q := range peers {
		points := f.points[shape][q.name]
		if err := line(label(q), func(i int) result { return points[i] }, styleOf(k, q)); err != nil {
			return err
		}
	}
	return nil
}

// palette is Okabe and Ito's, which those who confuse colours tell apart, but for its black.
var palette = []color.RGBA{
	{0xe6, 0x9f, 0x00, 0xff},
	{0x56, 0xb4, 0xe9, 0xff},
	{0x00, 0x9e, 0x73, 0xff},
	{0xd5, 0x5e, 0x00, 0xff},
	{0xcc, 0x79, 0xa7, 0xff},
	{0x99, 0x99, 0x99, 0xff},
}

func styleOf(k int, p peer) draw.LineStyle {
	if p.name == all[0].name {
		return draw.LineStyle{Color: color.RGBA{0x00, 0x72, 0xb2, 0xff}, Width: vg.Points(3)}
	}
	s := draw.LineStyle{Color: palette[k%len(palette)], Width: vg.Points(1)}
	if n := k / len(palette); n > 0 {
		s.Dashes = []vg.Length{vg.Points(float64(3 * n)), vg.Points(2)}
	}
	return s
}

// ticks are the loads that were offered.
func ticks(xs []float64) plot.ConstantTicks {
	var t plot.ConstantTicks
	for _, x := range xs {
		t = append(t, plot.Tick{Value: x, Label: strconv.FormatFloat(x, 'g', -1, 64)})
	}
	return t
}
