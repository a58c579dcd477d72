package core

import "time"

// RetryMin and RetryMax bound what those shed are told to wait: a second while
// answers flow, since most overload is a burst, and up to ten when nothing comes
// out, since what helps after a stop is that the retries come when it is over.
const (
	RetryMin = time.Second
	RetryMax = 10 * time.Second
)

// RetryAfter is how long those shed now should wait in the mean before they try
// again; each is told half of it to half as much again. It is as long as nothing
// has come out well, 1 to 10 s, in whole seconds: a stop that has lasted so long
// is likely to last as long again. Once answers flow it falls by a second each
// second, since those who were refused in the stop come back for as long as it
// was: told one second, the ones they displace would join them at once.
func (l *Lane) RetryAfter() time.Duration {
	return min(max(l.tick.drought.Round(time.Second), RetryMin), RetryMax)
}

// dry follows for how long nothing has come out well. An idle lane owes no
// answers, so its time does not count.
func (t *ticks) dry(now, dt time.Duration) {
	if t.idle {
		t.barren = now
	}
	t.drought = min(max(t.drought-dt, now-t.barren), RetryMax)
}

// MayRetry tells whether a shed call should be told to try again at all: the
// lowest tiers and what is a retry already should not, or retries would feed the
// overload.
func MayRetry(rank, attempt int) bool { return attempt == 0 && rank < 4*NumCohorts }
