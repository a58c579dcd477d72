package scorecard

// A Tag is one fact about a request: its tenant, its caller, its kind of
// operation. Both fields are compared byte for byte; neither case nor spaces
// are folded. The zero Tag has an empty key, which no rule can name.
type Tag struct{ Key, Value string }

const (
	// maxTags bounds what is done under the lock for one request.
	maxTags = 64

	// maxValue is the longest value, in bytes, that gets a counter of its own:
	// what a caller sends must not decide how much memory is kept for it.
	maxValue = 256

	laneKey     = "lane"
	defaultLane = "default"
)

// A request is one request's tags, seen through the keys that the rules name.
// Each such key has a slot; a set of slots is a bit mask.
type request struct {
	tags    []Tag
	at      [maxKeys]uint8 // slot to index in tags; valid if the slot is in present
	present uint64
	long    uint64 // slots whose value is longer than maxValue

	// The value hashed last: most rules with * have it at the same key.
	hash     uint64
	hashed   bool
	hashSlot uint8
}

func (q *request) value(slot uint8) string { return q.tags[q.at[slot]].Value }

// lane returns the lane whose limit the request's shares are of.
func (q *request) lane(slot uint8) string {
	if q.present&(1<<slot) != 0 {
		if lane := q.value(slot); lane != "" {
			return lane
		}
	}
	return defaultLane
}
