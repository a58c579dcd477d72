package admissiontest

import (
	"maps"
	"sync"

	"github.com/spillway-go/spillway/admission"
)

// Spy is a stage that remembers what passed it and sheds what Verdict says. It is safe for
// concurrent use, but for Verdict, which is set before.
type Spy struct {
	Verdict func(*admission.Request) error // nil: lets all pass

	mu       sync.Mutex
	requests []admission.Request // as Enter saw them, shed ones too
	outcomes map[admission.Outcome]int
	inside   int
}

// Name is "spy".
func (s *Spy) Name() string { return "spy" }

// Enter remembers r and asks Verdict about it.
func (s *Spy) Enter(_ admission.Load, r *admission.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, *r)
	if s.Verdict != nil {
		if err := s.Verdict(r); err != nil {
			return err
		}
	}
	s.inside++
	return nil
}

// Exit counts the outcome.
func (s *Spy) Exit(_ admission.Load, _ *admission.Request, o admission.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outcomes == nil {
		s.outcomes = map[admission.Outcome]int{}
	}
	s.outcomes[o]++
	s.inside--
}

// Last is the request seen last, the zero one before any.
func (s *Spy) Last() admission.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) == 0 {
		return admission.Request{}
	}
	return s.requests[len(s.requests)-1]
}

// Count tells how many came out as o.
func (s *Spy) Count(o admission.Outcome) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outcomes[o]
}

// Running tells how many are inside.
func (s *Spy) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inside
}

// Outcomes tells how many came out in which way.
func (s *Spy) Outcomes() map[admission.Outcome]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.outcomes)
}

// Asked tells how many were seen, shed ones too.
func (s *Spy) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// Shedding is a verdict that sheds all.
func Shedding(e *admission.ShedError) func(*admission.Request) error {
	return func(*admission.Request) error { return e }
}
