package regulators

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

type dbPool struct {
	db *sql.DB

	mu struct {
		sync.Mutex
		last    sql.DBStats
		at      time.Time
		waiting int64 // began to wait while no wait has ended
	}
}

// DBPool returns a Signal for the wait for a connection of db: how many waited
// for one, on average since the poll before, over how many connections there may
// be (MaxOpenConns). By Little's law that is the wait over the time for which a
// connection is held: at 1, the default of what it should bear, a query waits as
// long as it takes. [Scaled] makes it more or less.
//
// A pool without a maximum makes nobody wait: it is an error, at each poll, as
// the maximum may be set later. database/sql counts a wait when it ends; if none
// ends in a period and all connections are taken, those count who are known to
// have waited all through it. The first period starts with this call. A poll takes
// the pool's lock for less than a microsecond. All who poll one DBPool share its
// periods: give each poller its own.
func DBPool(db *sql.DB) (Signal, error) {
	if db == nil {
		return nil, errors.New("regulators: db of DBPool is nil")
	}
	p := &dbPool{db: db}
	p.mu.last, p.mu.at = db.Stats(), time.Now()
	return p, nil
}

func (p *dbPool) Pressure(context.Context) (float64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, now := p.db.Stats(), time.Now()
	if s.MaxOpenConnections < 1 {
		return 0, errors.New("regulators: MaxOpenConns of DBPool's db is not set: nobody waits for a connection")
	}
	elapsed := now.Sub(p.mu.at)
	if elapsed <= 0 {
		return 0, fmt.Errorf("%w: no time has passed since the last poll of DBPool", ErrNoReading)
	}
	waited, began := s.WaitDuration-p.mu.last.WaitDuration, s.WaitCount-p.mu.last.WaitCount
	p.mu.last, p.mu.at = s, now
	waiters := waited.Seconds() / elapsed.Seconds()
	if waited > 0 || s.InUse < s.MaxOpenConnections {
		p.mu.waiting = 0 // who of them still waits, nobody can tell
	} else {
		// Only who began before this period has waited all through it: one that began
		// a moment ago is no sign of anything.
		waiters = float64(p.mu.waiting)
		p.mu.waiting += began
	}
	return waiters / float64(s.MaxOpenConnections), nil
}
