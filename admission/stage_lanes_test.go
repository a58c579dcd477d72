package admission

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// A stage that the config binds to lanes is asked about their requests alone, and left
// by those who entered it, whatever the config says by then.
func TestStagesBoundToLanes(t *testing.T) {
	every, some := &stageFuncs{name: "every"}, &stageFuncs{name: "some"}
	no := errors.New("no")
	refuse := false
	some.enter = func(*Request) error {
		if refuse {
			return no
		}
		return nil
	}
	last := &stageFuncs{name: "last"}
	two := map[string]LaneConfig{"read": {}, "write": {}}
	cfg := Config{Lanes: two, Stages: map[string]StageConfig{"some": {Lanes: []string{"write"}}}}
	c := NewQuiet(t, cfg, WithStages(every, some, last))
	read, write := hold(t, c, Request{Lane: "read"}), hold(t, c, Request{Lane: "write"})
	counts := func() []int {
		return []int{every.entered, every.exited, some.entered, some.exited, last.entered, last.exited}
	}
	if got, want := counts(), []int{2, 0, 1, 0, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("entered and left %v, want %v", got, want)
	}
	cfg.Stages = map[string]StageConfig{"some": {Lanes: []string{"read"}}}
	if err := c.Apply(cfg); err != nil {
		t.Fatal(err)
	}
	read.Release(Success)
	write.Release(Success)
	if got, want := counts(), []int{2, 2, 1, 1, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("entered and left %v, want %v", got, want)
	}
	refuse = true
	if _, err := c.TryAdmit(t.Context(), Request{Lane: "read"}); !errors.Is(err, no) {
		t.Errorf("a read after the change: %v", err)
	}
	hold(t, c, Request{Lane: "write"}).Release(Success)

	err := c.Check(Config{Lanes: two, Stages: map[string]StageConfig{"some": {Lanes: []string{"wirte"}}, "smoe": {}}})
	if got := fields(err); !slices.Equal(got, []string{`stages["some"].lanes[0]`, `stages["smoe"]`}) || !strings.Contains(err.Error(), "no stage of that name") {
		t.Errorf("%q: %v", got, err)
	}
}
