package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// progress draws a bar that moves with the clock: the run's length is known beforehand but for repeats. On
// anything that is no terminal it draws nothing.
type progress struct {
	w     io.Writer
	total time.Duration
	start time.Time
	quit  chan struct{}
	wg    sync.WaitGroup

	mu struct {
		sync.Mutex
		doing string
	}
}

const (
	barWidth    = 32
	barInterval = 200 * time.Millisecond
)

// startProgress draws on w, for a run that will take about total, until stop.
func startProgress(w io.Writer, total time.Duration) *progress {
	p := &progress{w: w, total: total, start: time.Now(), quit: make(chan struct{})}
	if !isTerminal(w) {
		return p
	}
	p.wg.Go(func() {
		tick := time.NewTicker(barInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprint(w, "\r", p.line(time.Since(p.start)), "\x1b[K")
			case <-p.quit:
				fmt.Fprint(w, "\r\x1b[K")
				return
			}
		}
	})
	return p
}

// say sets what the bar says is being done.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.doing = fmt.Sprintf(format, args...)
}

// doing is what the bar says is being done.
func (p *progress) doing() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.doing
}

// stop takes the bar away. It must be called once.
func (p *progress) stop() {
	close(p.quit)
	p.wg.Wait()
}

// line is the bar after so long. It never says it is done before it is.
func (p *progress) line(elapsed time.Duration) string {
	share := min(elapsed.Seconds()/p.total.Seconds(), 0.99)
	full := int(share * barWidth)
	left := max(p.total-elapsed, time.Second).Round(time.Second)
	return fmt.Sprintf("[%s%s] %2.0f %%, about %v left: %s",
		strings.Repeat("#", full), strings.Repeat(".", barWidth-full), share*100, left, p.doing())
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
