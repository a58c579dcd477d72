package report

import (
	"image/color"
	"math"
	"slices"
	"strconv"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// panel is one small chart: curves over the offered load, which is
// logarithmic, as the loads themselves are spaced.
type panel struct {
	Title   string
	Loads   []float64
	Curves  []curve
	Max     float64 // least top of a linear axis
	Log     bool    // logarithmic y, from the data
	Percent bool
	Big     bool
}

// curve is a line that is labelled at its end, where the eye arrives anyway;
// a legend would have to be matched by colour.
type curve struct {
	Label  string
	Color  color.RGBA
	Points []curvePoint
	Dashed bool
	Marks  bool
}

type curvePoint struct {
	X, Y  float64 // Y is NaN in a gap
	Valid bool    // matters where there are marks
}

func textStyle(size vg.Length, c color.Color, bold bool) text.Style {
	f := plotfont.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = font.WeightBold
	}
	return text.Style{Color: c, Font: f, Handler: plot.DefaultTextHandler}
}

func (p panel) textSize() vg.Length {
	if p.Big {
		return 13
	}
	return 12
}

func (p panel) draw(c draw.Canvas) {
	c.FillText(textStyle(p.textSize()+1, ink, true), vg.Point{X: c.Min.X, Y: c.Max.Y - 14}, p.Title)
	c.Max.Y -= 30
	if len(p.Loads) == 0 {
		return
	}
	pl := plot.New()
	pl.BackgroundColor = nil
	pl.X.Min, pl.X.Max = p.bounds()
	pl.X.Scale = plot.LogScale{}
	pl.X.Tick.Marker = plot.ConstantTicks(p.loadTicks())
	pl.X.Label.Text = "offered load, in multiples of capacity"
	p.yAxis(pl)
	for _, a := range []*plot.Axis{&pl.X, &pl.Y} {
		a.LineStyle.Width = 0
		a.Padding = 6
		a.Tick.LineStyle.Width, a.Tick.Length = 0, 3
		a.Label.TextStyle = textStyle(p.textSize()-1, grey, false)
		a.Label.TextStyle.XAlign = draw.XCenter
		x, y := a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Tick.Label = textStyle(p.textSize()-1, grey, false)
		a.Tick.Label.XAlign, a.Tick.Label.YAlign = x, y
	}
	pl.Add(p)
	pl.Draw(c)
}

// bounds are the ends of the load axis, with room for the marks.
func (p panel) bounds() (from, to float64) {
	return p.Loads[0] / 1.06, p.Loads[len(p.Loads)-1] * 1.06
}

// loadTicks labels each load that has room, and 1, the capacity, always.
func (p panel) loadTicks() []plot.Tick {
	first, last := p.Loads[0], p.Loads[len(p.Loads)-1]
	room := math.Pow(last/first, 0.055)
	var ticks []plot.Tick
	before := 0.0
	for _, x := range p.Loads {
		t := plot.Tick{Value: x}
		near1 := x != 1 && slices.Contains(p.Loads, 1) && max(x, 1/x) < room
		if !near1 && x >= before*room {
			t.Label, before = multiple(x), x
		}
		ticks = append(ticks, t)
	}
	return ticks
}

func (p panel) yAxis(pl *plot.Plot) {
	if !p.Log {
		pl.Y.Min, pl.Y.Max = 0, p.Max
		for _, y := range p.values() {
			pl.Y.Max = max(pl.Y.Max, y*1.05)
		}
		step := 0.25
		for pl.Y.Max/step > 6 {
			step *= 2
		}
		var ticks []plot.Tick
		for i := range int(pl.Y.Max/step) + 1 {
			y := float64(i) * step
			ticks = append(ticks, plot.Tick{Value: y, Label: p.yLabel(y)})
		}
		pl.Y.Tick.Marker = plot.ConstantTicks(ticks)
		return
	}
	pl.Y.Scale = plot.LogScale{}
	pl.Y.Min, pl.Y.Max = 1, 10
	if ys := p.values(); len(ys) > 0 {
		pl.Y.Min, pl.Y.Max = slices.Min(ys)/1.5, slices.Max(ys)*1.5
	}
	pl.Y.Tick.Marker = plot.ConstantTicks(logTicks(pl.Y.Min, pl.Y.Max))
}

func (p panel) yLabel(y float64) string {
	if p.Percent {
		return strconv.FormatFloat(100*y, 'f', 0, 64) + "%"
	}
	return number(y)
}

// logTicks are the 1-2-5 steps between the bounds, or the powers of ten alone
// when that would be a crowd.
func logTicks(from, to float64) []plot.Tick {
	for _, steps := range [][]float64{{1, 2, 5}, {1}} {
		var ticks []plot.Tick
		for e := math.Floor(math.Log10(from)); e <= math.Log10(to); e++ {
			for _, s := range steps {
				if y := s * math.Pow(10, e); y >= from && y <= to {
					ticks = append(ticks, plot.Tick{Value: y, Label: number(y)})
				}
			}
		}
		if len(ticks) <= 7 || len(steps) == 1 {
			return ticks
		}
	}
	return nil
}

func (p panel) values() []float64 {
	var ys []float64
	for _, c := range p.Curves {
		for _, pt := range c.Points {
			if !math.IsNaN(pt.Y) {
				ys = append(ys, pt.Y)
			}
		}
	}
	return ys
}
