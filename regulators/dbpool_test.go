package regulators_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// connector gives out connections that can do nothing but be held.
type connector struct{}

func (connector) Connect(context.Context) (driver.Conn, error) { return connector{}, nil }
func (connector) Driver() driver.Driver                        { return nil }
func (connector) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }
func (connector) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }
func (connector) Close() error                                 { return nil }

func openPool(t *testing.T, connections int) (*sql.DB, regulators.Signal) {
	db := sql.OpenDB(connector{})
	db.SetMaxOpenConns(connections)
	return db, built(t)(regulators.DBPool(db))
}

// hold takes a connection of db, in turn, and keeps it for a while.
func hold(t *testing.T, db *sql.DB, wg *sync.WaitGroup, long time.Duration) {
	wg.Go(func() {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		time.Sleep(long)
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Two connections, each held for 100 ms at a time by those of n clients whose turn it is:
// by Little's law the others wait, n-2 of them at any time.
func TestDBPoolReadsWaitersPerConnection(t *testing.T) {
	for clients, want := range map[int]float64{1: 0, 2: 0, 4: 1, 8: 3} {
		synctest.Test(t, func(t *testing.T) {
			db, s := openPool(t, 2)
			defer db.Close()
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					for range 500 {
						var one sync.WaitGroup
						hold(t, db, &one, 100*time.Millisecond)
						one.Wait()
					}
				})
			}
			time.Sleep(500*time.Millisecond + 1) // until waits of full length end
			_, _ = s.Pressure(t.Context())
			time.Sleep(10 * time.Second)
			// database/sql gives a free connection to a random one of those who wait, and
			// counts all of a wait when it ends: hence the margin.
			got, err := s.Pressure(t.Context())
			t.Logf("%d clients: %.2f, want %v", clients, got, want)
			if err != nil || math.Abs(got-want) > 0.2 {
				t.Errorf("%d clients of 2 connections: %v, %v, want %v", clients, got, err, want)
			}
			wg.Wait()
			_, _ = s.Pressure(t.Context())
			time.Sleep(time.Second)
			if got, err := s.Pressure(t.Context()); err != nil || got != 0 {
				t.Errorf("after %d clients: %v, %v, want 0", clients, got, err)
			}
		})
	}
}

// While a database hangs no wait ends, so database/sql counts none.
func TestDBPoolSeesOneThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, s := openPool(t, 2)
		defer db.Close()
		var wg sync.WaitGroup
		for range 8 {
			hold(t, db, &wg, 2500*time.Millisecond)
		}
		for _, act := range []act{
			{"they began to wait in this period", time.Second, 0, nil, 0},
			{"and waited all through this one", time.Second / 2, 0, nil, 3},
			{"nobody new, nobody gone", time.Second / 2, 0, nil, 3},
			{"two got their turn after 2.5 s", time.Second, 0, nil, 2 * 2.5 / 2},
		} {
			time.Sleep(act.wait)
			if got, err := s.Pressure(t.Context()); err != nil || math.Abs(got-act.want) > 0.01 {
				t.Errorf("%s: %v, %v, want %v", act.why, got, err, act.want)
			}
		}
		wg.Wait()
		time.Sleep(time.Second)
		_, _ = s.Pressure(t.Context())
		time.Sleep(time.Second)
		if got, err := s.Pressure(t.Context()); err != nil || got != 0 {
			t.Errorf("after it hung: %v, %v, want 0", got, err)
		}
	})
}

func TestDBPoolErrors(t *testing.T) {
	if s, err := regulators.DBPool(nil); s != nil || err == nil || !strings.Contains(err.Error(), "regulators: db of DBPool is nil") {
		t.Errorf("%v, %v", s, err)
	}
	synctest.Test(t, func(t *testing.T) {
		db, s := openPool(t, 0)
		defer db.Close()
		time.Sleep(time.Second)
		if _, err := s.Pressure(t.Context()); err == nil || !strings.Contains(err.Error(), "MaxOpenConns of DBPool's db is not set") {
			t.Errorf("no maximum: %v", err)
		}
		db.SetMaxOpenConns(1)
		if got, err := s.Pressure(t.Context()); got != 0 || err != nil {
			t.Errorf("once it is set: %v, %v", got, err)
		}
		if _, err := s.Pressure(t.Context()); !errors.Is(err, regulators.ErrNoReading) {
			t.Errorf("at once again: %v, want ErrNoReading", err)
		}
	})
}
