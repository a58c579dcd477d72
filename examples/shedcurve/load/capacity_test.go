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
				rps, err := Capacity(t.Context(), c, oneClass(t), 3, time.Second, time.Second, 1)
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

func TestCapacityErrors(t *testing.T) {
	bubble(t, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Millisecond)
		w.WriteHeader(http.StatusInternalServerError)
	}, func(t *testing.T, c *Client) {
		_, err := Capacity(t.Context(), c, oneClass(t), 3, time.Second, time.Second, 1)
		wantErrors(t, err, "no request with success")
	})
	c, err := NewClient("http://service.test")
	if err != nil {
		t.Fatal(err)
	}
	c.transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }
	if _, err := Capacity(t.Context(), c, oneClass(t), 3, time.Minute, time.Second, 1); !errors.Is(err, ErrDead) {
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
