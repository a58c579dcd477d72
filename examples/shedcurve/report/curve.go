package report

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Plot draws grid, lines, marks and labels; gonum calls it with the place that
// the axes leave. It makes panel a plot.Plotter.
func (p panel) Plot(c draw.Canvas, pl *plot.Plot) {
	tx, ty := pl.Transforms(&c)
	for _, t := range pl.Y.Tick.Marker.Ticks(pl.Y.Min, pl.Y.Max) {
		style := draw.LineStyle{Color: pale, Width: 1}
		c.StrokeLine2(style, c.Min.X, ty(t.Value), c.Max.X, ty(t.Value))
	}
	for _, cv := range p.Curves {
		p.line(c, cv, tx, ty)
		if cv.Marks {
			p.marks(c, cv, tx, ty)
		}
	}
	p.labels(c, ty)
}

// GlyphBoxes asks gonum for room to the right, for the labels.
func (p panel) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	var boxes []plot.GlyphBox
	for _, cv := range p.Curves {
		if _, ok := cv.end(); ok {
			width := textStyle(p.textSize(), cv.Color, true).Width(cv.Label) + labelGap
			boxes = append(boxes, plot.GlyphBox{X: 1, Rectangle: vg.Rectangle{Max: vg.Point{X: width, Y: 1}}})
		}
	}
	return boxes
}

func (p panel) line(c draw.Canvas, cv curve, tx, ty func(float64) vg.Length) {
	style := draw.LineStyle{Color: cv.Color, Width: 2}
	if p.Big {
		style.Width = 2.5
	}
	if cv.Dashed {
		style.Width = 1.5
		style.Dashes = []vg.Length{5, 4}
	}
	var run []vg.Point
	for _, pt := range cv.Points {
		if math.IsNaN(pt.Y) {
			c.StrokeLines(style, run)
			run = nil
			continue
		}
		run = append(run, vg.Point{X: tx(pt.X), Y: ty(pt.Y)})
	}
	c.StrokeLines(style, run)
}

func (p panel) marks(c draw.Canvas, cv curve, tx, ty func(float64) vg.Length) {
	disc := func(at vg.Point, radius vg.Length, fill color.Color) {
		c.DrawGlyph(draw.GlyphStyle{Color: fill, Radius: radius, Shape: draw.CircleGlyph{}}, at)
	}
	radius := vg.Length(3.5)
	if p.Big {
		radius = 4.5
	}
	for _, pt := range cv.Points {
		if math.IsNaN(pt.Y) {
			continue
		}
		at := vg.Point{X: tx(pt.X), Y: ty(pt.Y)}
		disc(at, radius, cv.Color)
		if !pt.Valid {
			disc(at, radius-1.5, color.White)
		}
	}
}

const labelGap = vg.Length(9) // between the end of a line and its label

// labels writes the names at the ends of the lines, moved apart where lines
// end close together.
func (p panel) labels(c draw.Canvas, ty func(float64) vg.Length) {
	type tag struct {
		curve
		y vg.Length
	}
	var tags []tag
	for _, cv := range slices.Backward(p.Curves) { // of equals the first ends on top
		if y, ok := cv.end(); ok {
			tags = append(tags, tag{cv, ty(y)})
		}
	}
	slices.SortStableFunc(tags, func(a, b tag) int { return cmp.Compare(a.y, b.y) })
	heights := make([]vg.Length, len(tags))
	for i, t := range tags {
		heights[i] = t.y
	}
	spread(heights, c.Min.Y, c.Max.Y, p.textSize()+2)
	for i, t := range tags {
		style := textStyle(p.textSize(), t.Color, true)
		c.FillText(style, vg.Point{X: c.Max.X + labelGap, Y: heights[i] - p.textSize()*0.35}, t.Label)
	}
}

// spread moves rising heights at least gap apart and into the bounds, in
// order. Where there are too many, it is the lower bound that gives.
func spread(heights []vg.Length, low, high, gap vg.Length) {
	floor := low
	for i := range heights {
		heights[i] = max(heights[i], floor)
		floor = heights[i] + gap
	}
	ceiling := high
	for i := range slices.Backward(heights) {
		heights[i] = min(heights[i], ceiling)
		ceiling = heights[i] - gap
	}
}

// end is the last value of the curve.
func (cv curve) end() (float64, bool) {
	for _, pt := range slices.Backward(cv.Points) {
		if !math.IsNaN(pt.Y) {
			return pt.Y, true
		}
	}
	return 0, false
}
