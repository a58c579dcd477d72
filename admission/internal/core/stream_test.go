package core

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// observed is a limit that only remembers what it is shown.
type observed struct{ samples []pid.Sample }

func (o *observed) Observe(s pid.Sample)          { o.samples = append(o.samples, s) }
func (o *observed) Tick(time.Duration, pid.Usage) {}
func (o *observed) Limit() int                    { return 2 }

// B19: a stream holds its slot and tells the limit's law nothing, neither while
// it outlives its deadline nor when it ends, however that is reported.
func TestStreamsAreNoSamples(t *testing.T) {
	for _, stream := range []bool{true, false} {
		for _, o := range []Outcome{Success, Overload, Failure, Ignore} {
			law := &observed{}
			l, err := New(Config{}, law)
			if err != nil {
				t.Fatal(err)
			}
			c := call(3, 1, time.Second)
			c.Stream = stream
			l.Arrive(0, c, 0.5, true)
			expect(t, "a slot is free", c, Running, 0)
			l.Tick(2*time.Second, 0.5)
			if l.Inflight() != 1 {
				t.Errorf("inflight is %d while it runs", l.Inflight())
			}
			l.Release(3*time.Second, c, o)
			if want := map[bool]int{true: 0, false: 1}[stream]; len(law.samples) != want {
				t.Errorf("stream %v, outcome %d: %d samples, want %d", stream, o, len(law.samples), want)
			}
			if n := l.count.Tiers[3].Outcomes[o]; n != 1 || l.Inflight() != 0 {
				t.Errorf("stream %v, outcome %d: counted %d times, inflight %d", stream, o, n, l.Inflight())
			}
		}
	}
}
