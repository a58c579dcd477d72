package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
	"github.com/spillway-go/spillway/examples/shedcurve/report"
)

// result is a comparison.
type result struct {
	Seed       uint64  `json:"seed"`
	OfferedRPS float64 `json:"offered_rps"`
	LagBound   int     `json:"lag_bound"`
	BucketRate float64 `json:"bucket_rate"` // writes/s: the best of those swept
	Swept      []swept `json:"swept"`
	Arms       []arm   `json:"arms"`
}

// swept is a rate that the bucket was tried with.
type swept struct {
	Rate      float64 `json:"rate"` // writes/s
	ServedRPS float64 `json:"served_rps"`
	LagPeak   int64   `json:"lag_peak"`
}

// arm is what an arm came to. What it used is the leader's.
type arm struct {
	Name           string                  `json:"name"`
	ServedRPS      float64                 `json:"served_rps"` // reads and writes answered 2xx within their deadline
	WritesRPS      float64                 `json:"writes_rps"` // the writes among them
	WriteP99MS     float64                 `json:"write_p99_ms"`
	GoroutinesPeak int                     `json:"goroutines_peak"`
	HeapPeakBytes  int64                   `json:"heap_peak_bytes"`
	LagMean        float64                 `json:"lag_mean"`
	LagSD          float64                 `json:"lag_sd"`
	LagPeak        int64                   `json:"lag_peak"`
	Tiers          map[string]report.Tally `json:"tiers"`       // of the writes
	Lag            []lagPoint              `json:"lag"`         // over time
	LateP99MS      float64                 `json:"late_p99_ms"` // of the generator: sent minus due
}

type lagPoint struct {
	S       float64 `json:"s"`
	Entries int64   `json:"entries"`
}

func armOf(name string, o outcome) arm {
	w, r := o.writes.Merge(nil), o.reads.Merge(nil)
	a := arm{
		Name: name, WritesRPS: perSecond(w), ServedRPS: perSecond(w) + perSecond(r),
		WriteP99MS: ms(w.Admitted.Quantile(0.99)), GoroutinesPeak: o.goroutinesPeak, HeapPeakBytes: o.heapPeakBytes,
		Tiers: map[string]report.Tally{}, LateP99MS: ms(w.Lag.Quantile(0.99)),
	}
	for name, t := range w.Tiers {
		a.Tiers[name] = report.Tally(t)
	}
	var sum, squares float64
	for _, l := range o.lags {
		sum += float64(l.Lag)
		squares += float64(l.Lag) * float64(l.Lag)
		a.LagPeak = max(a.LagPeak, l.Lag)
		a.Lag = append(a.Lag, lagPoint{l.At.Sub(o.start).Seconds(), l.Lag})
	}
	n := max(1, float64(len(o.lags)))
	a.LagMean = sum / n
	a.LagSD = math.Sqrt(max(0, squares/n-a.LagMean*a.LagMean))
	return a
}

func perSecond(r load.Result) float64 {
	if r.Duration == 0 {
		return 0
	}
	return float64(r.Good) / r.Duration.Seconds()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (r result) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// writeText prints both arms side by side, the bucket first.
func (r result) writeText(out io.Writer) error {
	b, s := r.Arms[0], r.Arms[1]
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%.0f requests/s offered, lag bound %d, bucket at %.0f writes/s, seed %d\n\n", r.OfferedRPS, r.LagBound, r.BucketRate, r.Seed)
	fmt.Fprintf(w, "\t%s\t%s\tchange\t\n", b.Name, s.Name)
	for _, row := range []struct {
		name     string
		of       func(arm) float64
		decimals int
	}{
		{"requests served, per s", func(a arm) float64 { return a.ServedRPS }, 0},
		{"writes among them, per s", func(a arm) float64 { return a.WritesRPS }, 0},
		{"p99 of writes, ms", func(a arm) float64 { return a.WriteP99MS }, 0},
		{"peak goroutines", func(a arm) float64 { return float64(a.GoroutinesPeak) }, 0},
		{"peak heap, MB", func(a arm) float64 { return float64(a.HeapPeakBytes) / 1e6 }, 1},
		{"lag, mean", func(a arm) float64 { return a.LagMean }, 0},
		{"lag, standard deviation", func(a arm) float64 { return a.LagSD }, 0},
		{"lag, peak", func(a arm) float64 { return float64(a.LagPeak) }, 0},
	} {
		x, y := row.of(b), row.of(s)
		fmt.Fprintf(w, "%s\t%.*f\t%.*f\t%+.0f %%\t\n", row.name, row.decimals, x, row.decimals, y, 100*(y/x-1))
	}
	for _, t := range tiers {
		fmt.Fprintf(w, "writes of %s shed\t%s\t%s\t\t\n", t.name, shed(b.Tiers[t.name]), shed(s.Tiers[t.name]))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nlag over time, a column a %.1f s, full height %d\n", columnS, r.LagBound)
	for _, a := range r.Arms {
		fmt.Fprintf(out, "%13s %s\n", a.Name, a.sparkline(r.LagBound))
	}
	return nil
}

func shed(t report.Tally) string {
	return fmt.Sprintf("%.1f %%", 100*float64(t.Shed)/max(1, float64(t.Offered)))
}

const columnS = 0.25

// sparkline draws the lag as blocks, the highest lag of each column; what exceeds the bound is an exclamation mark.
func (a arm) sparkline(bound int) string {
	var columns []int64
	for _, p := range a.Lag {
		c := int(p.S / columnS)
		for len(columns) <= c {
			columns = append(columns, 0)
		}
		columns[c] = max(columns[c], p.Entries)
	}
	blocks := []rune(" ▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range columns {
		if v > int64(bound) {
			b.WriteByte('!')
			continue
		}
		b.WriteRune(blocks[int(v)*(len(blocks)-1)/bound])
	}
	return b.String()
}
