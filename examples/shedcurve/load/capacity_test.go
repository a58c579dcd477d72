package load

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"
)

func TestCapacityIsTheKnee(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		want    float64
	}{
		{"one worker", workers(1, 10*time.Millisecond), 100},
		{"eight workers", workers(8, 10*time.Millisecond), 800},
		{"sheds beyond four", shedding(4, 10*time.Millisecond), 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, tt.handler, func(t *testing.T, c *Client) {
				rps, err := Capacity(t.Context(), c, Probe{Mix: oneClass(t), Rounds: 3, Windows: 3, Window: time.Second, Deadline: time.Second, Seed: 1})
				if err != nil {
					t.Fatal(err)
				}
				near(t, "capacity", rps, tt.want, 0.05)
			})
		})
	}
}

// shedding is a service of n workers that refuses whom it cannot serve at once.
func shedding(n int, service time.Duration) http.HandlerFunc {
	slots := slotsOf(n)
	return func(w http.ResponseWriter, _ *http.Request) {
		free := slots()
		select {
		case free <- struct{}{}:
			defer func() { <-free }()
			time.Sleep(service)
		default:
			time.Sleep(service)
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
}

// A target that stands still for longer than a window has a capacity all the same.
func TestCapacityOfASlowTarget(t *testing.T) {
	bubble(t, workers(1, 700*time.Millisecond), func(t *testing.T, c *Client) {
		rps, err := Capacity(t.Context(), c, Probe{Mix: oneClass(t), Rounds: 1, Windows: 1, Window: 500 * time.Millisecond, Deadline: 10 * time.Second, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "capacity", rps, 1/0.7, 0.3)
	})
}

func TestCapacityErrors(t *testing.T) {
	bubble(t, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Millisecond)
		w.WriteHeader(http.StatusInternalServerError)
	}, func(t *testing.T, c *Client) {
		_, err := Capacity(t.Context(), c, Probe{Mix: oneClass(t), Rounds: 3, Windows: 3, Window: time.Second, Deadline: time.Second, Seed: 1})
		wantErrors(t, err, "no request with success")
	})
	c, err := NewClient("http://service.test")
	if err != nil {
		t.Fatal(err)
	}
	httpOf(c).DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }
	if _, err := Capacity(t.Context(), c, Probe{Mix: oneClass(t), Rounds: 3, Windows: 3, Window: time.Minute, Deadline: time.Second, Seed: 1}); !errors.Is(err, ErrDead) {
		t.Errorf("error %v, want ErrDead", err)
	}
}

func TestCheck(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
		case "/busy":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/slow":
			<-r.Context().Done()
		}
	}
	for _, tt := range []struct {
		lines []string
		want  []string // nil: no error
	}{
		{[]string{"GET /", "GET /busy"}, nil},
		{[]string{"GET /missing", "GET /", "PUT /missing"}, []string{"GET /missing: answered 404", "PUT /missing: answered 404"}},
		{[]string{"GET /slow"}, []string{"GET /slow: ", "deadline exceeded"}},
	} {
		bubble(t, h, func(t *testing.T, c *Client) {
			err := Check(t.Context(), c, mixOf(t, tt.lines...), time.Second)
			if tt.want != nil {
				wantErrors(t, err, tt.want...)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// A target that is half as fast for some of the windows has the capacity of its speed 1 all the same.
func TestCapacityIsScaledToSpeed(t *testing.T) {
	for _, pattern := range [][]float64{{1, 1, 0.5, 0.5, 1}, {0.5, 1}} {
		windows := 0
		speed := func() float64 { return pattern[windows%len(pattern)] }
		slots := slotsOf(4)
		bubble(t, func(http.ResponseWriter, *http.Request) {
			free := slots()
			free <- struct{}{}
			defer func() { <-free }()
			time.Sleep(time.Duration(float64(10*time.Millisecond) / speed()))
		}, func(t *testing.T, c *Client) {
			probe := Probe{Mix: oneClass(t), Rounds: 3, Windows: 3, Window: time.Second, Deadline: time.Second, Seed: 1}
			probe.Speed = func(from, to time.Time) (float64, error) {
				if d := to.Sub(from); d != 800*time.Millisecond {
					t.Errorf("asked for the speed during %v, want what is counted of a window", d)
				}
				now := speed()
				windows++
				return now, nil
			}
			rps, err := Capacity(t.Context(), c, probe)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "capacity", rps, 400, 0.05)
			probe.Window = 100 * time.Millisecond
			probe.Speed = func(time.Time, time.Time) (float64, error) { return 1, errors.New("no gauge") }
			_, err = Capacity(t.Context(), c, probe)
			wantErrors(t, err, "no gauge")
		})
	}
}
