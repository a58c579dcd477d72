package configfile

import "time"

const (
	// quietFor is how long a file must be left alone before it is read: longer than
	// a pause within one write, so that no half of one is taken for the whole.
	quietFor = 200 * time.Millisecond
	// patience bounds the wait where something near the file changes all the time.
	patience = 600 * time.Millisecond
	// defaultPoll is for file systems that tell nothing, and for what happened
	// while nobody could be told.
	defaultPoll = 30 * time.Second
)

// settling tells when what changes has come to rest. The zero value is at rest.
type settling struct{ first, last time.Time }

func (s *settling) changed(now time.Time) {
	if s.first.IsZero() {
		s.first = now
	}
	s.last = now
}

// due is when to look; false while there is nothing to look at.
func (s *settling) due() (time.Time, bool) {
	at, latest := s.last.Add(quietFor), s.first.Add(patience)
	if latest.Before(at) {
		at = latest
	}
	return at, !s.first.IsZero()
}
