package admission

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// scripted is a limit that moves at given ticks.
type scripted struct {
	limits []int
	n      int
}

func (s *scripted) Limit() int                    { return s.limits[min(s.n, len(s.limits)-1)] }
func (*scripted) Observe(pid.Sample)              {}
func (s *scripted) Tick(time.Duration, pid.Usage) { s.n++ }
func (s *scripted) State() pid.LimitState         { return pid.LimitState{Why: fmt.Sprintf("step %d", s.n)} }

// lines keeps what is logged, without the time.
type lines struct {
	mu    sync.Mutex
	lines []string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, strings.TrimSpace(string(p)))
	return len(p), nil
}

func (l *lines) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// Every move of a limit, and of a gate, is told with its reason, once, to the
// hook and to the log; where the log is not for debugging it stays silent.
func TestMovesAreToldWithTheirReason(t *testing.T) {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo} {
		synctest.Test(t, func(t *testing.T) {
			var moves []LimitMove
			var edges []GateEdge
			var log lines
			law := &scripted{limits: []int{2, 2, 5, 5, 3}}
			c := NewQuiet(t, Config{}, WithLimit("", law), WithLogger(log.logger(level)), WithHooks(Hooks{
				Limit: func(m LimitMove) { moves = append(moves, m) },
				Gate:  func(g GateEdge) { edges = append(edges, g) },
			}))
			time.Sleep(time.Second)
			for range 10 { // two run, the others ask for more than there is
				for range 40 {
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					go func() {
						defer cancel()
						if ticket, err := c.Admit(ctx, Request{}); err == nil {
							time.Sleep(90 * time.Millisecond)
							ticket.Release(Success)
						}
					}()
				}
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(20 * time.Second)
			if err := c.Apply(Config{}); err != nil {
				t.Error(err)
			}
			synctest.Wait()

			want := []LimitMove{{"default", 2, 5, "step 2"}, {"default", 5, 3, "step 4"}}
			if !slices.Equal(moves, want) {
				t.Errorf("moves: %v, want %v", moves, want)
			}
			if len(edges) < 2 || edges[0].Ratio <= 0 || edges[0].Binding != "queue" || edges[len(edges)-1].Ratio != 0 {
				t.Errorf("edges: %+v, want the gate to shed for the queue and to open again", edges)
			}
			var told []string
			if level == slog.LevelDebug {
				told = []string{
					`level=DEBUG msg="limit moved" admission.lane=default admission.from=2 admission.to=5 admission.why="step 2"`,
					`level=DEBUG msg="limit moved" admission.lane=default admission.from=5 admission.to=3 admission.why="step 4"`,
				}
				for _, e := range edges {
					what := "gate sheds"
					if e.Ratio == 0 {
						what = "gate is open"
					}
					told = append(told, fmt.Sprintf("level=DEBUG msg=%q admission.lane=default admission.ratio=%v admission.binding=%q", what, e.Ratio, e.Binding))
				}
			}
			told = append(told, `level=INFO msg="config applied"`)
			got := strings.ReplaceAll(strings.Join(withoutShedding(log.lines), "\n"), "binding=queue", `binding="queue"`)
			if want := strings.Join(told, "\n"); got != want {
				t.Errorf("%v: log is\n%s\nwant\n%s", level, got, want)
			}
		})
	}
}

// withoutShedding leaves out what TestSheddingIsLoggedByItsEdges holds.
func withoutShedding(lines []string) []string {
	return slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, "shedding") })
}
