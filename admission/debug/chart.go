package debug

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// chart is a small picture of the last minutes, drawn by the template as SVG.
type chart struct {
	Title string
	Top   string // the highest value drawn
	Span  string // how long ago it begins
	Lines []chartLine
}

type chartLine struct {
	Class string // of its colour
	Name  string
	Now   string
	Path  string // an SVG path within chartWidth and chartHeight
	Area  bool   // what lies below is filled
}

// chartSpans are how long ago a chart may begin: the shortest is taken that shows all.
var chartSpans = [...]time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute}

const (
	chartWidth  = 600
	chartHeight = 120
)

// series is a line before it is drawn. NaN is where nothing is known.
type series struct {
	class, name string
	format      func(float64) string
	values      []float64
	area        bool
}

// draw scales all series alike, from zero to the highest value or least.
func draw(title string, end time.Time, times []time.Time, least float64, all ...series) chart {
	top := least
	for _, s := range all {
		for _, v := range s.values {
			if v > top { // false for NaN
				top = v
			}
		}
	}
	span := chartSpans[0]
	for _, longer := range chartSpans[1:] {
		if len(times) > 0 && end.Sub(times[0]) > span {
			span = longer
		}
	}
	c := chart{Title: title, Top: all[0].format(top), Span: fmt.Sprintf("%.0f min", span.Minutes())}
	for _, s := range all {
		now := "none"
		if n := len(s.values); n > 0 && !math.IsNaN(s.values[n-1]) {
			now = s.format(s.values[n-1])
		}
		c.Lines = append(c.Lines, chartLine{Class: s.class, Name: s.name, Now: now, Area: s.area, Path: path(end, span, times, s, top)})
	}
	return c
}

// path breaks where time has a gap. Of an area each part is closed at the bottom.
func path(end time.Time, span time.Duration, times []time.Time, s series, top float64) string {
	var b strings.Builder
	var first, last int
	drawing := false
	stop := func() {
		if drawing && s.area {
			fmt.Fprintf(&b, "L%d %dL%d %dZ", last, chartHeight, first, chartHeight)
		}
		drawing = false
	}
	for i, at := range times {
		age := end.Sub(at)
		if age > span || age < 0 || math.IsNaN(s.values[i]) {
			stop()
			continue
		}
		if i > 0 && at.Sub(times[i-1]) > gap {
			stop()
		}
		x := int(math.Round(chartWidth * (1 - age.Seconds()/span.Seconds())))
		y := int(math.Round(chartHeight * (1 - s.values[i]/top)))
		if !drawing {
			first, drawing = x, true
			fmt.Fprintf(&b, "M%d %d", x, y)
		}
		fmt.Fprintf(&b, "L%d %d", x, y)
		last = x
	}
	stop()
	return b.String()
}

// charts of a lane.
func (l *laneReport) charts(end time.Time) []chart {
	times := make([]time.Time, len(l.Points))
	column := func(of func(p *point) float64) []float64 {
		values := make([]float64, len(l.Points))
		for i := range l.Points {
			times[i] = l.Points[i].At
			values[i] = of(&l.Points[i])
		}
		return values
	}
	offered := series{"offered", "offered", number, column(func(p *point) float64 { return p.OfferedPerS }), false}
	admitted := series{"admitted", "admitted", number, column(func(p *point) float64 { return p.AdmittedPerS }), false}
	shed := series{"shed", "shed", number, column(func(p *point) float64 { return p.ShedPerS }), true}
	limit := series{"limit", "limit", number, column(func(p *point) float64 { return float64(p.Limit) }), false}
	inflight := series{"admitted", "inflight", number, column(func(p *point) float64 { return float64(p.Inflight) }), false}
	queued := series{"queued", "queued", number, column(func(p *point) float64 { return float64(p.Queued) }), true}
	ratio := series{"shed", "of arrivals", percent, column(func(p *point) float64 { return p.ShedRatio }), true}
	median := series{"admitted", "median", seconds, column(func(p *point) float64 { return known(p.MedianS) }), false}
	return []chart{
		draw("Requests per second", end, times, 1, offered, admitted, shed),
		draw("Slots and queue", end, times, 1, limit, inflight, queued),
		draw("Shed ratio of the gate", end, times, 0.01, ratio),
		draw("Service time", end, times, 0.001, median),
	}
}

func known(x float64) float64 {
	if x == 0 {
		return math.NaN()
	}
	return x
}

// Chart of a signal, for the template.
func (s *signalReport) chart(end time.Time) chart {
	var times []time.Time
	var pressure, setpoint []float64
	for _, p := range s.Points {
		times = append(times, p.At)
		setpoint = append(setpoint, p.Setpoint)
		if p.Stale {
			p.Pressure = math.NaN()
		}
		pressure = append(pressure, p.Pressure)
	}
	return draw("Signal "+s.Name, end, times, 1,
		series{"admitted", "pressure", number, pressure, false}, series{"limit", "setpoint", number, setpoint, false})
}
