package admission

import (
	"math/rand/v2"
	"strconv"
	"time"
)

// replayed is a request of the stream.
type replayed struct {
	Request
	id      int
	at      time.Duration
	try     bool          // it does not wait
	waits   time.Duration // until its deadline; 0: it has none
	leaves  time.Duration // it waits no longer than that; 0: as long as it must
	service time.Duration // from its admission
	outcome Outcome
}

// replayPhases make every kind of decision happen.
var replayPhases = []struct {
	lasts    time.Duration
	rate     float64
	service  time.Duration
	overload float64 // share of the outcomes
}{
	{4 * time.Second, 100, 20 * time.Millisecond, 0},    // calm
	{8 * time.Second, 900, 40 * time.Millisecond, 0.01}, // more than 8 slots can serve
	{4 * time.Second, 500, 200 * time.Millisecond, 0},   // five times slower
	{3 * time.Second, 2, 20 * time.Millisecond, 0},      // a lull
	{6 * time.Second, 700, 40 * time.Millisecond, 0},
	{9 * time.Second, 300, 100 * time.Millisecond, 1}, // failing, down to the floor
	{6 * time.Second, 200, 20 * time.Millisecond, 0},
	{3 * time.Second, 900, 40 * time.Millisecond, 0},
	{2 * time.Second, 100, 20 * time.Millisecond, 0},
	{300 * time.Millisecond, 3000, 40 * time.Millisecond, 0}, // more than the queue takes; then it is closed
}

// replayStream draws the requests, no two at one instant.
func replayStream(seed uint64) (stream []replayed, end time.Duration) {
	r := rand.New(rand.NewPCG(seed, seed))
	at := time.Duration(0)
	for _, p := range replayPhases {
		end += p.lasts
		for {
			gap := time.Duration(1+r.ExpFloat64()*float64(time.Second)/p.rate) | 1
			if at+gap > end {
				at = end
				break
			}
			at += gap
			q := replayed{id: len(stream), at: at, outcome: Success}
			q.Priority, q.Key = NewPriority(Tier(r.IntN(NumTiers)), r.IntN(NumCohorts)), strconv.Itoa(q.id)
			if r.IntN(10) == 0 {
				q.Cost = 1 + r.IntN(5)
			}
			q.try = r.IntN(20) == 0
			if r.IntN(4) > 0 {
				q.waits = time.Duration(float64(30*time.Millisecond) + r.ExpFloat64()*float64(300*time.Millisecond))
			}
			if r.IntN(8) == 0 {
				q.leaves = 1 + time.Duration(r.Int64N(int64(100*time.Millisecond)))
			}
			q.service = 1 + time.Duration(r.ExpFloat64()*float64(p.service))
			switch x := r.Float64(); {
			case x < p.overload:
				q.outcome = Overload
			case x < p.overload+0.02:
				q.outcome = Failure
			case x < p.overload+0.04:
				q.outcome = Ignore
			}
			stream = append(stream, q)
		}
	}
	return stream, end
}
