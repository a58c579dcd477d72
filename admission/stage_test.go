package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/scorecard"
)

// stageFuncs is a stage made of functions, any of which may be nil, that counts.
type stageFuncs struct {
	name  string
	enter func(*Request) error
	exit  func(*Request, Outcome)

	sync.Mutex
	entered, exited int
}

func (s *stageFuncs) Name() string { return s.name }

func (s *stageFuncs) Enter(_ Load, r *Request) error {
	if s.enter != nil {
		if err := s.enter(r); err != nil {
			return err
		}
	}
	s.Lock()
	defer s.Unlock()
	s.entered++
	return nil
}

func (s *stageFuncs) Exit(_ Load, r *Request, o Outcome) {
	s.Lock()
	s.exited++
	s.Unlock()
	if s.exit != nil {
		s.exit(r, o)
	}
}

// chain is three stages that write down what they are told. The one called
// where does what do says, when it is entered or, with atExit, when it is left.
type chain struct{ log []string }

func (k *chain) stages(where string, atExit bool, do func() error) []Stage {
	var stages []Stage
	for _, name := range []string{"a", "b", "c"} {
		stages = append(stages, &stageFuncs{
			name: name,
			enter: func(*Request) error {
				k.log = append(k.log, "+"+name)
				if name == where && !atExit {
					return do()
				}
				return nil
			},
			exit: func(_ *Request, o Outcome) {
				k.log = append(k.log, "-"+name+" "+o.String())
				if name == where && atExit {
					_ = do()
				}
			},
		})
	}
	return stages
}

var errMine = errors.New("mine")

func refuseMine() error { return errMine }
func panicMine() error  { panic(errMine) }

// Promise 3: each Enter that succeeded has exactly one Exit, in reverse order,
// whatever becomes of the request; and all it took comes back.
func TestStagesAreLeftInReverse(t *testing.T) {
	for _, tc := range []struct {
		name   string
		where  string
		atExit bool
		do     func() error
		busy   bool // no slot is free
		want   []string
		shed   Reason // NumReasons: admitted, unless it panics
	}{
		{
			name: "served", shed: NumReasons,
			want: []string{"+a", "+b", "+c", "-c failure", "-b failure", "-a failure"},
		},
		{
			name: "the last one refuses", where: "c", do: refuseMine, shed: ReasonStage,
			want: []string{"+a", "+b", "+c", "-b ignore", "-a ignore"},
		},
		{
			name: "the first one refuses", where: "a", do: refuseMine, shed: ReasonStage,
			want: []string{"+a"},
		},
		{
			name: "the lane refuses", busy: true, shed: ReasonLimit,
			want: []string{"+a", "+b", "+c", "-c ignore", "-b ignore", "-a ignore"},
		},
		{
			name: "one panics on entering", where: "b", do: panicMine,
			want: []string{"+a", "+b", "-a ignore"},
		},
		{
			name: "one panics on leaving", where: "b", atExit: true, do: panicMine, shed: NumReasons,
			want: []string{"+a", "+b", "+c", "-c failure", "-b failure", "-a failure"},
		},
		{
			name: "the lane refuses, and one panics on leaving", where: "c", atExit: true, do: panicMine, busy: true,
			want: []string{"+a", "+b", "+c", "-c ignore", "-b ignore", "-a ignore"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var k chain
				cfg := Pinned(1, 1)
				cfg.Scorecard.Rules = []scorecard.Rule{{Name: "tenant", Match: "tenant:*", Cap: scorecard.Cap{N: 1}}}
				c := NewQuiet(t, cfg, WithStages(k.stages(tc.where, tc.atExit, tc.do)...))
				if tc.busy {
					l := c.lane()
					l.mu.Lock()
					blocker := l.takeLocked(c)
					blocker.call.Cost = 1
					l.mu.core.Offer(0, 0, false)
					l.mu.core.Arrive(c.now(), &blocker.call, 0, false)
					l.mu.Unlock()
					defer c.settle(blocker, c.now(), Ignore)
				}
				panicked, err := attempt(c)
				if !slices.Equal(k.log, tc.want) {
					t.Errorf("stages saw %v, want %v", k.log, tc.want)
				}
				if wantPanic := tc.do != nil && fmt.Sprintf("%p", tc.do) == fmt.Sprintf("%p", panicMine); wantPanic != (panicked == errMine) {
					t.Errorf("panicked with %v", panicked)
				}
				if why, ok := ReasonOf(err); panicked == nil && (ok != (tc.shed < NumReasons) || why != tc.shed) {
					t.Errorf("err = %v, want reason %v", err, tc.shed)
				}
				// Nothing is kept: tenant and slot are free again.
				for _, r := range c.card.Counts() {
					if r.Held != 0 {
						t.Errorf("rule %s holds %d", r.Rule, r.Held)
					}
				}
			})
		})
	}
}

// attempt is a request that fails if it runs.
func attempt(c *Controller) (panicked any, err error) {
	defer func() { panicked = recover() }()
	ticket, err := c.TryAdmit(context.Background(), Request{Tenant: "acme"})
	ticket.Release(Failure)
	return nil, err
}

// In shadow a refusal of a stage is counted, the request runs, and the stages
// it passed are left when it is done.
func TestStagesInShadow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k chain
		var told []Refusal
		cfg := Pinned(1, 1)
		cfg.Mode = Shadow
		c := NewQuiet(t, cfg, WithStages(k.stages("c", false, refuseMine)...), WithHooks(Hooks{
			Shed: func(_ context.Context, r Refusal) { told = append(told, r) },
		}))
		ticket, err := c.Admit(t.Context(), Request{})
		if err != nil {
			t.Fatal(err)
		}
		if l := only(t, c); l.Overrun != 1 || l.Tiers[T3].Shadow[ReasonStage] != 1 {
			t.Errorf("overrun %d, shadow %v", l.Overrun, l.Tiers[T3].Shadow)
		}
		ticket.Release(Success)
		if want := []string{"+a", "+b", "+c", "-b success", "-a success"}; !slices.Equal(k.log, want) {
			t.Errorf("stages saw %v, want %v", k.log, want)
		}
		if len(told) != 1 || !told[0].Shadow || told[0].Cause != errMine || told[0].Err.Reason != ReasonStage {
			t.Errorf("the hook was told %+v", told)
		}
	})
}

// A panic of a stage passes through in shadow too, and nothing is kept.
func TestStagePanicsInShadow(t *testing.T) {
	for _, atExit := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var k chain
			cfg := Pinned(1, 1)
			cfg.Mode = Shadow
			c := NewQuiet(t, cfg, WithStages(k.stages("b", atExit, panicMine)...))
			if panicked, _ := attempt(c); panicked != errMine {
				t.Errorf("panicked with %v", panicked)
			}
		})
	}
}

// A stage's own *ShedError keeps its reason, any other error is wrapped.
func TestStageErrorsAreWrapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := &ShedError{Reason: ReasonKeyed, Err: errMine}
		var next error
		c := NewQuiet(t, Pinned(1, 1), WithStages(&stageFuncs{name: "mine", enter: func(*Request) error { return next }}))
		for _, tc := range []struct {
			err  error
			want Reason
		}{{errMine, ReasonStage}, {own, ReasonKeyed}, {uncomparable{"x"}, ReasonStage}} {
			next = tc.err
			_, err := c.Admit(t.Context(), Request{})
			wantShed(t, err, tc.want)
			var shed *ShedError
			if errors.As(err, &shed) && (shed.Stage != "mine" || shed.Lane != "default") {
				t.Errorf("stage %q in lane %q", shed.Stage, shed.Lane)
			}
			if _, odd := tc.err.(uncomparable); !odd && !errors.Is(err, errMine) {
				t.Errorf("%v does not wrap the stage's own error", err)
			}
		}
	})
}

type uncomparable []string

func (uncomparable) Error() string { return "cannot be compared" }

// A waiter that leaves, expires or is shed at shutdown leaves its stages too,
// and a stage that panics then keeps nobody's counters.
func TestWaitersLeaveTheirStages(t *testing.T) {
	for _, how := range []string{"leaves", "expires", "closed"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stage := &stageFuncs{name: "s", exit: func(_ *Request, o Outcome) {
					if o == Ignore {
						panic(errMine)
					}
				}}
				cfg := Pinned(1, 1)
				cfg.Scorecard.Rules = []scorecard.Rule{{Name: "tenant", Match: "tenant:*", Cap: scorecard.Cap{N: 9}}}
				c := NewQuiet(t, cfg, WithStages(stage))
				holder, err := c.TryAdmit(t.Context(), Request{})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				panicked := make(chan any)
				go func() {
					defer func() { panicked <- recover() }()
					_, _ = c.Admit(ctx, Request{Tenant: "acme"})
				}()
				synctest.Wait()
				switch how {
				case "leaves":
					cancel()
				case "closed":
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				}
				if v := <-panicked; v != errMine {
					t.Errorf("panicked with %v", v)
				}
				holder.Release(Success)
				if stage.entered != 2 || stage.exited != 2 {
					t.Errorf("%d entered, %d exited, want 2 and 2", stage.entered, stage.exited)
				}
				ValidateQuiet(t, c)
			})
		})
	}
}
