package peers

import (
	"fmt"
	"strings"

	"github.com/spillway-go/spillway/pid"
)

// Names lists what New knows, in the order of a table.
func Names() []string { return []string{"cinnamon", "envoy", "failsafe", "static20"} }

// New returns a peer's law as it starts: "cinnamon", "envoy", "failsafe", or
// "static20", a limit of 20 that never moves. Any other name is an error.
func New(name string) (pid.Limit, error) {
	switch name {
	case "cinnamon":
		return newCinnamon(), nil
	case "envoy":
		return newEnvoy(), nil
	case "failsafe":
		return newFailsafe(), nil
	case "static20":
		return pid.NewLimit(pid.LimitConfig{Fixed: 20})
	}
	return nil, fmt.Errorf("peers: law is %q: must be one of %s", name, strings.Join(Names(), ", "))
}
