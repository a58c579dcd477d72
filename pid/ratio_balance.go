package pid

import "time"

// balance is the published law of the gate (Uber, "PID Controller for Cinnamon",
// 2023): a PID controller on what comes in less what goes out, less the free
// slots. It has two changes. The error is over
// what is offered, not over what goes out, so that one unit of ratio is one unit
// of error at any load; undivided, the loop swings from open to shut from three
// times the capacity on. And a share of the queue is added, or a queue that has
// built up would stand for ever at an error of 0.
//
// The free slots bias it: it balances where as many are free as requests wait in
// vain in a period and a tenth of the queue together.
type balance struct{ ctl Controller }

// The published gains; an error of 1 asks for the whole ratio within a second.
const (
	balanceKP    = 0.1
	balanceKI    = 1.4 // per second
	balanceQueue = 0.1 // of the queue counts as if it had come in this period
)

// newBalance begins at a ratio, whatever the first error.
func newBalance(ratio float64) *balance {
	b := &balance{Controller{cfg: Config{KP: balanceKP, KI: balanceKI, Max: ratioMax, Reverse: true}}}
	b.ctl.Reset(ratio)
	return b
}

func (b *balance) next(ratio float64, dt time.Duration, f Flow, _ *demand) float64 {
	switch {
	case f.Limit <= 0:
		// It rests and lets nobody through: that is no news about arrivals, and a
		// ratio that has wound up meanwhile would shut out those who come after.
		b.ctl.Reset(0)
		return 0
	case f.Probing:
		return ratio
	}
	offered := max(float64(f.In+f.Rejected), 1)
	free := float64(f.Limit) - f.Inflight
	e := (float64(f.In) - float64(f.Out) - free + balanceQueue*float64(f.Queued)) / offered
	if e > 0 && f.Applied > ratio {
		b.ctl.Track(f.Applied) // a signal binds; when it lets go this one is there already
	}
	return b.ctl.Step(0, min(max(e, -1), 1), dt)
}
