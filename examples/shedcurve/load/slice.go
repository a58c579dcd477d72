package load

import "time"

// maxSlices bounds the memory of a run: a slice has two histograms, some 300 KB.
const maxSlices = 200

// Slice is what became of the requests of one Run that were due from Start on, for Duration.
type Slice struct {
	Start time.Time
	Result
}

// Slices are what became of all requests of one Run, in the order of time.
type Slices []Slice

// Merge adds up the slices that keep wants, all of them if it is nil; Duration is that of those slices together. The
// slices stay as they are.
func (s Slices) Merge(keep func(Slice) bool) Result {
	sum := newResult()
	for _, one := range s {
		if keep == nil || keep(one) {
			sum.add(one.Result)
		}
	}
	return sum
}

func (r *Result) add(o Result) {
	r.Offered += o.Offered
	r.Good += o.Good
	r.Shed += o.Shed
	r.Failed += o.Failed
	r.Duration += o.Duration
	r.Admitted.merge(o.Admitted)
	r.Lag.merge(o.Lag)
	addTallies(r.Tiers, o.Tiers)
	addTallies(r.Tenants, o.Tenants)
	addCounts(r.Reasons, o.Reasons)
	addCounts(r.Sheds, o.Sheds)
	addCounts(r.Failures, o.Failures)
	addCounts(r.RetryAfter, o.RetryAfter)
}

func addTallies(sum, more map[string]Tally) {
	for k, t := range more {
		sum[k] = sum[k].plus(t)
	}
}

func addCounts[K comparable](sum, more map[K]int) {
	for k, n := range more {
		sum[k] += n
	}
}

// timeline is the time of a run: the warm-up, then the slices.
type timeline struct {
	warmUp, slice time.Duration
	warming       *tally
	counted       []*tally
}

func newTimeline(cfg Config) timeline {
	l := timeline{warmUp: cfg.WarmUp, slice: cfg.Slice, warming: newTally(cfg.Deadline)}
	if l.slice == 0 {
		l.slice = cfg.Duration
	}
	for at := time.Duration(0); at < cfg.Duration; at += l.slice {
		l.counted = append(l.counted, newTally(cfg.Deadline))
	}
	return l
}

// tally is where a request counts that is due so long after the run's start.
func (l timeline) tally(due time.Duration) *tally {
	if due < l.warmUp {
		return l.warming
	}
	return l.counted[(due-l.warmUp)/l.slice]
}

// slices are the results of a run that was begun at start and ended so long after. No request may be under way.
func (l timeline) slices(start time.Time, ended time.Duration) (all Slices) {
	for i, t := range l.counted {
		from := l.warmUp + time.Duration(i)*l.slice
		if from >= ended {
			break
		}
		t.res.Duration = min(l.slice, ended-from)
		all = append(all, Slice{start.Add(from), t.res})
	}
	return all
}
