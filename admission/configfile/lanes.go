package configfile

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spillway-go/spillway/admission"
)

// checkFor is what a file is held against before it is applied to a controller that
// runs.
func checkFor(ctrl *admission.Controller) func(admission.Config) error {
	return func(cfg admission.Config) error { return errors.Join(ctrl.Check(cfg), keepsLanes(ctrl, cfg)) }
}

// keepsLanes reports the lanes in force that the config leaves out although requests
// have come to them: more will, and without their lane they would be invalid. Taking
// them into another lane would keep them running, but under a limit that was learned of
// another back end. To refuse the file changes nothing for anybody.
func keepsLanes(ctrl *admission.Controller, cfg admission.Config) error {
	lanes := cfg.WithDefaults().Lanes
	var missing []string
	for name := range ctrl.Config().Lanes {
		if _, ok := lanes[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 { // as nearly always: no need for statistics
		return nil
	}
	slices.Sort(missing)
	stats := ctrl.Stats()
	var errs []error
	for _, name := range missing {
		if l, _ := stats.Lane(name); arrived(l) > 0 {
			errs = append(errs, &admission.FieldError{
				Field: fmt.Sprintf("lanes[%q]", name),
				Rule:  fmt.Sprintf("must stay, since requests come to this lane: %d so far", arrived(l)),
				Known: slices.Sorted(maps.Keys(lanes)),
			})
		}
	}
	return errors.Join(errs...)
}

func arrived(l admission.LaneStats) (n uint64) {
	for _, t := range l.Tiers {
		n += t.Arrived
	}
	return n
}
