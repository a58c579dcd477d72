package regulators_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// One key may have half of what is in flight, once that is four requests or more.
func ExampleHotKey() {
	guard, err := regulators.HotKey(0.5, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, key := range []string{"hot", "hot", "hot", "hot", "hot", "cold"} {
		fmt.Println(key, guard.Enter(now, key, 1))
	}
	// Output:
	// hot <nil>
	// hot <nil>
	// hot <nil>
	// hot <nil>
	// hot regulators: refused: HotKey: this key has its share of what is in flight
	// cold <nil>
}

// What is above the bound waits for what is in flight to end; what is above it by
// itself never passes.
func ExampleInflightBytes() {
	guard, err := regulators.InflightBytes(100)
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	fmt.Println(guard.Enter(now, "", 80))
	fmt.Println(errors.Is(guard.Enter(now, "", 30), regulators.ErrRefused))
	guard.Exit("", 80)
	fmt.Println(guard.Enter(now, "", 30))
	fmt.Println(errors.Is(guard.Enter(now, "", 101), regulators.ErrTooLarge))
	// Output:
	// <nil>
	// true
	// <nil>
	// true
}

// A bucket for each tenant; the one who has emptied his is told so.
func ExampleRate() {
	guard, err := regulators.Rate(regulators.RateConfig{PerSecond: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, tenant := range []string{"acme", "acme", "acme", "globex"} {
		fmt.Println(tenant, guard.Enter(now, tenant, 1))
	}
	now = now.Add(500 * time.Millisecond)
	fmt.Println("acme", guard.Enter(now, "acme", 1))
	// Output:
	// acme <nil>
	// acme <nil>
	// acme regulators: refused: Rate: this key has had what it may take for now
	// globex <nil>
	// acme <nil>
}

// The resource that has least left decides; one that cannot be read is left out.
func ExampleMax() {
	disk := regulators.Func(func(context.Context) (float64, error) { return 0.4, nil })
	pool := regulators.Func(func(context.Context) (float64, error) { return 0.9, nil })
	lost := regulators.Func(func(context.Context) (float64, error) { return 0, errors.New("no route") })
	fmt.Println(regulators.Max(disk, pool, lost).Pressure(context.Background()))
	// Output:
	// 0.9 <nil>
}

// On at 1.2 and off below 0.8: between the two it stays as it is.
func ExampleHysteresis() {
	level := 0.0
	s, err := regulators.Hysteresis(regulators.Func(func(context.Context) (float64, error) { return level, nil }), 1.2, 0.8)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, level = range []float64{1.0, 1.3, 1.0, 0.7, 1.0} {
		pressure, _ := s.Pressure(context.Background())
		fmt.Println(level, "->", pressure)
	}
	// Output:
	// 1 -> 0
	// 1.3 -> 1.3
	// 1 -> 1
	// 0.7 -> 0
	// 1 -> 0
}
