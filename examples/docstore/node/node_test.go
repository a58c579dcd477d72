package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/examples/docstore/store"
)

func open(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pairUp puts n writes and returns the leader, and the follower's store with the function that follows.
func pairUp(t *testing.T, n int, c FollowerConfig) (l *Leader, a, b *store.Store, follow func(context.Context) error) {
	a, b = open(t), open(t)
	l = NewLeader(a)
	for i := range n {
		if err := l.Put(t.Context(), fmt.Sprintf("k%d", i%100), fmt.Appendf(nil, "v%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	return l, a, b, func(ctx context.Context) error { return Follow(ctx, b, c, l.Entries) }
}

// The follower applies at its disk's pace, at a quarter of it while a sweep runs, and ends with what the leader has.
func TestFollow(t *testing.T) {
	for _, tt := range []struct {
		name     string
		sweepFor time.Duration
		want     int64 // applied in the 20 s from 1 s on
	}{{"calm", 0, 800}, {"sweeping", 20 * time.Second, 200}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const writes = 1300
				l, a, b, follow := pairUp(t, writes, FollowerConfig{Pace: 40, SweepEvery: 21 * time.Second, SweepFor: tt.sweepFor})
				defer a.Close()
				defer b.Close()
				defer l.Close()
				if _, ok := l.Lag(); ok {
					t.Error("a lag before the follower was heard of")
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- follow(ctx) }()
				lagAt := func(d time.Duration) int64 {
					time.Sleep(d)
					lag, _ := l.Lag()
					return lag
				}
				before := lagAt(time.Second)
				applied := before - lagAt(20*time.Second)
				if applied < tt.want*9/10 || applied > tt.want*11/10 {
					t.Errorf("%d entries applied in 20 s, want %d", applied, tt.want)
				}
				if lag := lagAt(time.Minute * 2); lag != 0 {
					t.Errorf("lag %d in the end", lag)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				da, err1 := a.Digest(t.Context())
				db, err2 := b.Digest(t.Context())
				if err := errors.Join(err1, err2); err != nil || da != db || b.Last() != writes {
					t.Errorf("follower at %d with digest %08x, leader %08x, %v", b.Last(), db, da, err)
				}
			})
		})
	}
}

// A follower with a gap in its log ends with an error; one whose leader is away for a while goes on.
func TestFollowThroughErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		defer s.Close()
		c := FollowerConfig{Pace: 1000}
		away := 3
		err := Follow(t.Context(), s, c, func(_ context.Context, applied int64, _ int) ([]store.Entry, error) {
			switch {
			case away > 0:
				away--
				return nil, errors.New("nobody there")
			case applied < 2:
				return []store.Entry{{Index: applied + 1, Key: "k"}}, nil
			}
			return []store.Entry{{Index: 9, Key: "k"}}, nil
		})
		if err == nil || !strings.Contains(err.Error(), "entry 9 comes where 3 is due") {
			t.Errorf("error %v", err)
		}
	})
	err := FollowerConfig{SweepFor: 2, SweepEvery: 1}.Validate()
	if err == nil || !strings.Contains(err.Error(), "pace is 0") || !strings.Contains(err.Error(), "a sweep is 2ns of 1ns") {
		t.Errorf("config error %v", err)
	}
}

func TestPutAfterClose(t *testing.T) {
	s := open(t)
	defer s.Close()
	l := NewLeader(s)
	l.Close()
	if err := l.Put(t.Context(), "k", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v", err)
	}
}

// Clients and follower over HTTP: every status, and a lag that the follower's requests tell.
func TestHTTP(t *testing.T) {
	s := open(t)
	defer s.Close()
	l := NewLeader(s)
	defer l.Close()
	public, logs := httptest.NewServer(Handler(l)), httptest.NewServer(LogHandler(l))
	defer public.Close()
	defer logs.Close()
	do := func(method, url, body string, want int) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s %s: status %d, want %d", method, url, res.StatusCode, want)
		}
	}
	do("GET", public.URL+"/kv/a", "", http.StatusNotFound)
	do("PUT", public.URL+"/kv/a", "1", http.StatusNoContent)
	do("PUT", public.URL+"/kv/a", "2", http.StatusNoContent)
	do("GET", public.URL+"/kv/a", "", http.StatusOK)
	do("PUT", public.URL+"/kv/b", strings.Repeat("x", maxValue+1), http.StatusRequestEntityTooLarge)
	do("GET", logs.URL+"/log?applied=-1&n=1", "", http.StatusBadRequest)
	do("GET", logs.URL+"/log?applied=0&n=9999", "", http.StatusBadRequest)
	fetch := Fetch(logs.URL)
	entries, err := fetch(t.Context(), 1, 10)
	if err != nil || len(entries) != 1 || entries[0].Index != 2 || string(entries[0].Value) != "2" {
		t.Errorf("entries %v, %v", entries, err)
	}
	if lag, ok := l.Lag(); lag != 1 || !ok {
		t.Errorf("lag %d, %t; want 1", lag, ok)
	}
	if _, err := fetch(t.Context(), 1, 0); err == nil {
		t.Error("no error for a status of 400")
	}
}
