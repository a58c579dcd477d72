package scorecard_test

import (
	"fmt"

	"github.com/spillway-go/spillway/scorecard"
)

// Rules change while requests are in flight: those count on.
func ExampleCard_SetRules() {
	tenants := scorecard.Rule{Name: "tenants", Match: "tenant:*", Cap: scorecard.Cap{N: 5}}
	card, err := scorecard.New(tenants)
	if err != nil {
		fmt.Println(err)
		return
	}
	acme := []scorecard.Tag{{Key: "tenant", Value: "acme"}}
	hold, err := card.Acquire(acme)
	fmt.Println(err)

	tenants.Cap.N = 1
	fmt.Println(card.SetRules(tenants))
	_, err = card.Acquire(acme)
	fmt.Println(err)

	hold.Release()
	_, err = card.Acquire(acme)
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
	// scorecard: rule "tenants": over its cap of 1
	// <nil>
}
