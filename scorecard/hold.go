package scorecard

// A Hold is the right of one request on the counters it was counted on. Each
// Hold that [Card.Acquire] returns must be released once the request is done.
// The zero Hold is on no counter. It must not be copied to be released twice:
// every copy would give back the same counters.
type Hold struct {
	card     *Card
	n        int
	counters [maxGroups]*counter
	shadowed *CapError
}

// Shadowed is the refusal by the first rule in shadow that would have refused the
// request; nil if none would have.
func (h *Hold) Shadowed() *CapError { return h.shadowed }

// Release gives the counters back. The first call counts; later ones, also
// from other goroutines, and those on a zero Hold do nothing. It does not
// matter that the rules were replaced in the meantime: what is given back is
// what was taken.
func (h *Hold) Release() {
	if h.card == nil {
		return
	}
	// The card stays set, for it is read before its lock is held.
	h.card.mu.Lock()
	h.ReleaseLocked()
	h.card.mu.Unlock()
}
