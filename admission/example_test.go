package admission_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/pid"
	"github.com/spillway-go/spillway/regulators"
)

// The zero Config works: the limit finds itself, the queue and the gate are on.
func ExampleNew() {
	ctrl, err := admission.New(admission.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer ctrl.Close()

	ticket, err := ctrl.Admit(context.Background(), admission.Request{Tenant: "acme"})
	if err != nil {
		fmt.Println(err) // errors.Is(err, admission.ErrShed): come back later
		return
	}
	defer ticket.Release(admission.Success)
	fmt.Println("runs, after a wait of", ticket.Waited())
	// Output: runs, after a wait of 0s
}

// Do takes the outcome from the function's error.
func ExampleController_Do() {
	// Two slots, as for a pool of two connections.
	ctrl, err := admission.New(admission.Config{
		Lanes: map[string]admission.LaneConfig{"default": {Limit: admission.LimitConfig{Fixed: 2}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer ctrl.Close()

	order := admission.Request{Priority: admission.NewPriority(admission.T1, 0), Op: "order"}
	err = ctrl.Do(context.Background(), order, func(context.Context) error {
		return errors.New("out of stock")
	})
	fmt.Println(err)

	lane, _ := ctrl.Stats().Lane("default")
	fmt.Println("failures:", lane.Tiers[admission.T1].Outcomes[admission.Failure], "inflight:", lane.Inflight)
	// Output:
	// out of stock
	// failures: 1 inflight: 0
}

// A signal brings in what only the service knows, here how far its followers
// lag behind, as a pressure: 1 is as much as it should bear. Above that the
// least important requests to the write lane are shed.
func ExampleWithSignal() {
	lag := regulators.Func(func(context.Context) (float64, error) {
		const behind, most = 250.0, 1000.0 // entries
		return behind / most, nil
	})
	ctrl, err := admission.New(admission.Config{
		Lanes:      map[string]admission.LaneConfig{"read": {}, "write": {}},
		Regulators: map[string]admission.RegulatorConfig{"follower-lag": {Lanes: []string{"write"}}},
	}, admission.WithSignal("follower-lag", lag))
	if err != nil {
		log.Fatal(err)
	}
	defer ctrl.Close()

	s := ctrl.Stats().Signals[0]
	fmt.Println(s.Name, "holds at", s.Setpoint, "and asks to shed", s.Ratio)
	// Output: follower-lag holds at 1 and asks to shed 0
}

// written is what each tenant writes a second, over what one may.
type written map[string]float64

func (w written) Pressures(context.Context) (map[string]float64, error) { return w, nil }

// A keyed signal brings in a pressure for each of several tenants, callers or keys.
// Who is above 1 is shed for himself, and the others feel nothing.
func ExampleWithKeyedSignal() {
	ctrl, err := admission.New(admission.Config{
		Regulators: map[string]admission.RegulatorConfig{"written": {By: "tenant", Period: 10 * time.Millisecond}},
	}, admission.WithKeyedSignal("written", written{"acme": 0.3, "bulk": 4}))
	if err != nil {
		log.Fatal(err)
	}
	defer ctrl.Close()

	for ctrl.Stats().Keyed[0].Pressed == 0 {
		time.Sleep(time.Millisecond)
	}
	s := ctrl.Stats().Keyed[0]
	fmt.Println(s.Name, "presses by", s.By, "and now:", s.Top[0].Key)
	// Output: written presses by tenant and now: bulk
}

// readOnly refuses writes while the service is being moved.
type readOnly struct{}

var errMoving = errors.New("read-only while we move")

func (readOnly) Name() string { return "read-only" }

func (readOnly) Enter(_ admission.Load, r *admission.Request) error {
	if r.Op == "write" {
		return errMoving
	}
	return nil
}

func (readOnly) Exit(admission.Load, *admission.Request, admission.Outcome) {}

// A Stage is a decision of one's own over whole requests.
func ExampleWithStages() {
	ctrl, err := admission.New(admission.Config{}, admission.WithStages(readOnly{}))
	if err != nil {
		log.Fatal(err)
	}
	defer ctrl.Close()

	_, err = ctrl.Admit(context.Background(), admission.Request{Op: "write"})
	var shed *admission.ShedError
	fmt.Println(errors.As(err, &shed), errors.Is(err, errMoving))
	fmt.Println(err)
	// Output:
	// true true
	// admission: shed by read-only in lane default: stage
}

// perWorker is a limit of so many slots per worker that is up.
type perWorker struct {
	slots int
	up    func() int
}

func (p perWorker) Limit() int                  { return max(p.slots*p.up(), 1) }
func (perWorker) Observe(pid.Sample)            {}
func (perWorker) Tick(time.Duration, pid.Usage) {}
func (p perWorker) State() pid.LimitState       { return pid.LimitState{Why: "four slots per worker"} }

// A limit may be a law of your own; the queue, the gate and the rest work with
// it as with any other.
func ExampleWithLimit() {
	workers := func() int { return 3 } // asked at each tick, twenty times a second
	ctrl, err := admission.New(admission.Config{}, admission.WithLimit("default", perWorker{4, workers}))
	if err != nil {
		log.Fatal(err)
	}
	defer ctrl.Close()

	lane, _ := ctrl.Stats().Lane("default")
	fmt.Printf("%d: %s\n", lane.Limit, lane.LimitWhy)
	// Output: 12: four slots per worker
}
