package admission

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/spillway-go/spillway/scorecard"
)

var errSoakGone = errors.New("the caller went")

// work asks, again and again, in bursts and with pauses.
func (s *soak) work(rng *rand.Rand) {
	for !s.stop.Load() {
		if s.lull.Load() {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if rng.IntN(20) == 0 {
			time.Sleep(time.Duration(rng.ExpFloat64() * float64(20*time.Millisecond)))
		}
		s.requests.Add(1)
		ended := make(chan struct{})
		go func() { // of its own, which it may end
			defer close(ended)
			s.request(rng)
		}()
		<-ended
	}
}

// request asks in one of the ways there are and books what came of it.
func (s *soak) request(rng *rand.Rand) {
	ctx, cancel := soakContext(rng)
	defer cancel()
	r := soakRequest(rng)
	f := unsure
	defer func() {
		if v := recover(); v == panicEnter {
			f = uncounted
		}
		if r.Lane == "" || r.Lane == defaultLane {
			s.fates[f].Add(1)
		}
	}()
	switch rng.IntN(10) {
	case 0, 1, 2:
		s.do(ctx, rng, r, &f)
		return
	case 3:
		if err := s.c.Precheck(ctx, r); err != nil {
			f = s.judge(r, err)
			return
		}
		fallthrough
	case 4, 5:
		t, err := s.c.TryAdmit(ctx, r)
		f = s.answered(rng, r, t, err)
	default:
		t, err := s.c.Admit(ctx, r)
		f = s.answered(rng, r, t, err)
	}
}

func (s *soak) do(ctx context.Context, rng *rand.Rand, r Request, f *fate) {
	ran := false
	err := s.c.Do(ctx, r, func(context.Context) error {
		ran = true
		if r.Priority == Exempt {
			*f = uncounted
		} else if !s.off {
			*f = admitted
		}
		time.Sleep(time.Duration(rng.IntN(1000)) * time.Microsecond)
		switch rng.IntN(12) {
		case 0:
			panic("work")
		case 1:
			runtime.Goexit()
		case 2:
			return errMine
		case 3:
			return context.DeadlineExceeded
		case 4:
			return context.Canceled
		}
		return nil
	})
	if !ran {
		*f = s.judge(r, err)
	}
}

// answered ends what was admitted, sooner or later, and tells the fate.
func (s *soak) answered(rng *rand.Rand, r Request, t Ticket, err error) fate {
	if err != nil {
		if t != (Ticket{}) {
			s.t.Errorf("both a ticket and %v", err)
		}
		return s.judge(r, err)
	}
	if t == (Ticket{}) {
		if !s.off && r.Priority != Exempt {
			s.t.Error("admitted with an empty ticket")
		}
		return uncounted
	}
	end := func(o Outcome) {
		defer func() { _ = recover() }() // of a stage's Exit
		t.Release(o)
	}
	o := Outcome(rng.IntN(int(Ignore) + 3))
	switch rng.IntN(8) {
	case 0: // twice, from elsewhere, at once
		var both sync.WaitGroup
		both.Go(func() { end(Success) })
		end(o)
		both.Wait()
	case 1: // long after, from elsewhere; the round does not end before
		late := time.Duration(rng.IntN(150)) * time.Millisecond
		s.late.Go(func() { time.Sleep(late); end(o); end(Success) })
	case 2:
		end(o)
	default:
		time.Sleep(time.Duration(rng.ExpFloat64() * float64(time.Millisecond)))
		end(o)
	}
	return admitted
}

// judge tells the fate that an error means.
func (s *soak) judge(r Request, err error) fate {
	var shed *ShedError
	switch {
	case errors.As(err, &shed):
		if shed.Reason >= NumReasons || shed.Lane != laneName(r.Lane) {
			s.t.Errorf("shed by %+v in lane %q", shed, r.Lane)
		}
		return refused
	case errors.Is(err, errSoakGone), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return left
	}
	if r.Cost >= 0 && r.Bytes >= 0 && (r.Lane == "" || r.Lane == defaultLane) {
		s.t.Errorf("%+v: %v", r, err)
	}
	return uncounted
}

func soakRequest(rng *rand.Rand) Request {
	r := Request{
		Lane: []string{"", "", defaultLane, "a", "b", "c"}[rng.IntN(6)], Priority: NewPriority(Tier(rng.IntN(NumTiers)), rng.IntN(NumCohorts)),
		Tenant: strconv.Itoa(int(rng.ExpFloat64() * 5)), Caller: strconv.Itoa(rng.IntN(4)), Op: strconv.Itoa(rng.IntN(6)),
		Cost: max(rng.IntN(8)-3, 0), Bytes: rng.Int64N(1 << 16), Attempt: rng.IntN(20) / 18, Stream: rng.IntN(20) == 0,
	}
	if rng.IntN(2) == 0 {
		r.Key = strconv.Itoa(rng.IntN(50))
	}
	switch rng.IntN(60) {
	case 0:
		r.Priority = Exempt
	case 1, 2, 3:
		r.Priority = 0
	case 4:
		r.Cost = -1
	case 5:
		r.Bytes = -1
	case 6:
		r.Lane = "nowhere"
	case 7:
		r.Cost = 1 << 60
	case 8:
		r.Tags = []scorecard.Tag{{Key: "zone", Value: "z"}, {Key: "zone", Value: "y"}}
	case 9:
		r.Tenant = strconv.FormatUint(rng.Uint64(), 36) // seen once
	}
	return r
}

// soakContext is a caller's patience: none, some, ended before it began, or a
// deadline by a wall clock that may be set to anything.
func soakContext(rng *rand.Rand) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := func() { cancel(nil) }
	if rng.IntN(3) == 0 {
		time.AfterFunc(time.Duration(rng.IntN(5000))*time.Microsecond, func() { cancel(errSoakGone) })
	}
	switch rng.IntN(8) {
	case 0:
		return ctx, stop
	case 1:
		off := []time.Duration{-24 * time.Hour, -time.Second, 0, time.Millisecond, time.Second, 24 * time.Hour, 1<<63 - 1}[rng.IntN(7)]
		return wallContext{ctx, time.Now().Round(0).Add(off)}, stop
	case 2:
		if rng.IntN(4) == 0 {
			cancel(errSoakGone)
		}
		return ctx, stop
	}
	timed, end := context.WithTimeout(ctx, time.Duration(rng.ExpFloat64()*float64(20*time.Millisecond)))
	return timed, func() { end(); stop() }
}

// wallContext names a deadline that it does not keep.
type wallContext struct {
	context.Context
	deadline time.Time
}

func (c wallContext) Deadline() (time.Time, bool) { return c.deadline, true }
