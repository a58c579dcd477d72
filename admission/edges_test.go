package admission

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// overload sends so many requests a second, of two tiers, that take 40 ms each.
func overload(t *testing.T, c *Controller, perSecond int, length time.Duration) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range int(length.Seconds() * float64(perSecond)) {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			_ = work(ctx, c, Request{Priority: []Tier{T1, T5}[i%2].Priority()}, 40*time.Millisecond)
		})
		time.Sleep(time.Second / time.Duration(perSecond))
	}
}

// However much is shed, the log has a line when it begins, one a minute, and one
// with the sums when it has ended.
func TestSheddingIsLoggedByItsEdges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		c := NewQuiet(t, Config{Lanes: map[string]LaneConfig{"default": {Limit: LimitConfig{Fixed: 10}}}},
			WithLogger(log.logger(slog.LevelInfo)))
		overload(t, c, 100, 10*time.Second) // of 250
		overload(t, c, 750, 70*time.Second)
		sheds, reasons := shed(only(t, c)), only(t, c).Tiers[T5].Shed
		overload(t, c, 100, 20*time.Second)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if len(log.lines) != 3 {
			t.Fatalf("%d lines:\n%s", len(log.lines), strings.Join(log.lines, "\n"))
		}
		for i, want := range []string{
			`^level=INFO msg="shedding began" admission.lane=default .*admission.shed=\d+ `,
			`^level=INFO msg="shedding goes on" admission.lane=default admission.binding=queue admission.lasted=1m`,
			`^level=INFO msg="shedding ended" admission.lane=default admission.lasted=1m(9|10)\S+ admission.arrived=\d+ admission.shed=\d+ .*admission.tiers.t5=\d+ .*admission.reasons.priority=\d+`,
		} {
			if !regexp.MustCompile(want).MatchString(log.lines[i]) {
				t.Errorf("line %d is\n%s\nwant\n%s", i, log.lines[i], want)
			}
		}
		if last := log.lines[2]; !strings.Contains(last, fmt.Sprintf("shed=%d ", sheds)) || !strings.Contains(last, fmt.Sprintf("reasons.priority=%d", only(t, c).Tiers[T1].Shed[ReasonPriority]+reasons[ReasonPriority])) {
			t.Errorf("%d were shed, of t5 %v; the log says\n%s", sheds, reasons, last)
		}
	})
}

// What began in a lane is told to have ended, also where the lane was removed.
func TestSheddingOfARemovedLaneEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		lane := LaneConfig{Limit: LimitConfig{Fixed: 1}}
		c := NewQuiet(t, Config{Lanes: map[string]LaneConfig{"default": lane, "write": lane}}, WithLogger(log.logger(slog.LevelInfo)))
		ticket := hold(t, c, Request{Lane: "write"})
		_, err := c.TryAdmit(t.Context(), Request{Lane: "write"})
		wantShed(t, err, ReasonLimit)
		time.Sleep(time.Second)
		if err := c.Apply(Config{Lanes: map[string]LaneConfig{"default": lane}}); err != nil {
			t.Fatal(err)
		}
		ticket.Release(Success)
		time.Sleep(time.Minute)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if last := log.lines[len(log.lines)-1]; !strings.Contains(last, `"shedding ended" admission.lane=write`) || !strings.Contains(last, "shed=1 ") {
			t.Errorf("the log says\n%s", strings.Join(log.lines, "\n"))
		}
	})
}

// A limit that stays at its lower bound with all slots taken is worth a warning;
// one that does so because it was pinned there, or with nobody to serve, is not.
func TestLimitAtItsFloorIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		c := NewQuiet(t, Config{Lanes: map[string]LaneConfig{
			"default": {Limit: LimitConfig{Min: 2, Max: 20, Initial: 2}, Deadline: 100 * time.Millisecond},
			"pinned":  {Limit: LimitConfig{Fixed: 1}},
			"idle":    {Limit: LimitConfig{Min: 2, Max: 20, Initial: 2}},
		}}, WithLogger(log.logger(slog.LevelInfo)))
		fail := true
		end := time.Now().Add(40 * time.Second)
		for time.Now().Before(end) {
			if time.Until(end) < 20*time.Second {
				fail = false
			}
			failing := fail
			for _, lane := range []string{"", "pinned"} {
				for range 8 {
					go func() {
						_ = c.Do(t.Context(), Request{Lane: lane}, func(context.Context) error {
							time.Sleep(20 * time.Millisecond)
							if failing && lane == "" {
								return context.DeadlineExceeded
							}
							return nil
						})
					}()
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		var told []string
		for _, l := range log.lines {
			if strings.Contains(l, "floor") {
				told = append(told, l)
			}
		}
		want := []string{
			`level=WARN msg="limit at its floor" admission.lane=default admission.limit=2 admission.min=2`,
			`level=INFO msg="limit left its floor" admission.lane=default `,
		}
		if len(told) != 2 || told[0] != want[0] || !strings.HasPrefix(told[1], want[1]) {
			t.Errorf("the log says\n%s", strings.Join(log.lines, "\n"))
		}
	})
}

// A signal and a guard that fail every other time do not flood the log.
func TestWhatFlapsIsLoggedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		var dead atomic.Bool
		calls := 0
		c := NewQuiet(t, Config{Regulators: map[string]RegulatorConfig{"lag": {Period: 100 * time.Millisecond}}},
			WithSignal("lag", regulators.Func(func(context.Context) (float64, error) {
				if dead.Load() {
					return 0, errors.New("gone")
				}
				return 0.5, nil
			})),
			WithGuard("guard", guardFunc(func() {
				if calls++; calls%2 == 0 {
					panic("guard")
				}
			})),
			WithLogger(log.logger(slog.LevelInfo)))
		for range 60 {
			dead.Store(!dead.Load())
			for range 10 {
				hold(t, c, Request{}).Release(Success)
				time.Sleep(100 * time.Millisecond)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		count := map[string]int{}
		for _, l := range log.lines {
			count[strings.Split(l, `"`)[1]]++
		}
		for _, what := range []string{"signal lost", "signal found again", "guard fails open", "guard works again"} {
			if n := count[what]; n < 1 || n > 7 {
				t.Errorf("%q stands %d times in a minute: %v", what, n, count)
			}
		}
	})
}

// guardFunc is a guard that lets all in.
type guardFunc func()

func (f guardFunc) Enter(time.Time, string, int64) error { f(); return nil }
func (guardFunc) Exit(string, int64)                     {}
