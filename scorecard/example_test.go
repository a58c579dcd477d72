package scorecard_test

import (
	"errors"
	"fmt"

	"github.com/spillway-go/spillway/scorecard"
)

// Every tenant may have two requests inflight, one of them a write; acme has
// been promised more.
func Example() {
	card, err := scorecard.New(
		scorecard.Rule{Name: "acme", Match: "tenant:acme", Cap: scorecard.Cap{N: 10}},
		scorecard.Rule{Name: "tenants", Match: "tenant:*", Cap: scorecard.Cap{N: 2}},
		scorecard.Rule{Name: "writes", Match: "tenant:*;op:write", Cap: scorecard.Cap{N: 1}},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	ask := func(tenant, op string) scorecard.Hold {
		hold, err := card.Acquire([]scorecard.Tag{{Key: "tenant", Value: tenant}, {Key: "op", Value: op}})
		fmt.Println(tenant, op, err)
		return hold
	}
	first := ask("globex", "write")
	ask("globex", "write")
	ask("globex", "read")
	ask("globex", "read")
	ask("acme", "write")
	first.Release()
	ask("globex", "write")

	// Output:
	// globex write <nil>
	// globex write scorecard: rule "writes": over its cap of 1
	// globex read <nil>
	// globex read scorecard: rule "tenants": over its cap of 2
	// acme write <nil>
	// globex write <nil>
}

func ExampleParseRule() {
	rule, err := scorecard.ParseRule("writes: tenant:*;op:write = 25% / 5 [shadow]")
	fmt.Println(rule.Name, rule.Match, rule.Cap, rule.UnderPressure, rule.Shadow, err)

	_, err = scorecard.ParseRule("writes: tenant:*;op:write = 5 / 25")
	fmt.Println(err)

	// Output:
	// writes tenant:*;op:write 25% 5 true <nil>
	// scorecard: rule "writes": under_pressure "25": must not be above cap "5"
}

func ExampleCard_Top() {
	card, err := scorecard.New(scorecard.Rule{Name: "tenants", Match: "tenant:*", Cap: scorecard.Cap{N: 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tenant := range []string{"acme", "globex", "acme", "acme"} {
		_, err := card.Acquire([]scorecard.Tag{{Key: "tenant", Value: tenant}})
		if errors.Is(err, scorecard.ErrOverCap) {
			continue
		}
	}
	for _, top := range card.Top(2) {
		fmt.Printf("%s %s: %d held, %d refused\n", top.Rule, top.Value, top.Held, top.Refused)
	}

	// Output:
	// tenants acme: 1 held, 2 refused
	// tenants globex: 1 held, 0 refused
}
