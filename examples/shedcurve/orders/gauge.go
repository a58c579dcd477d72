package orders

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// gauge is a statement that tells how fast the machine is. It has a connection of its own, so that it never waits for
// the pool, and reads lines that no request changes, so that it is the same work every time.
type gauge struct {
	db   *sql.DB
	stmt *sql.Stmt
}

// gaugedLines makes the gauge take some tenths of a millisecond.
const gaugedLines = 600

const sqlGauge = `SELECT sum(total) FROM (SELECT sum(quantity * price) AS total FROM (SELECT * FROM lines WHERE order_id <= ? LIMIT ?) GROUP BY +product_id)`

func openGauge(ctx context.Context, dsn string) (*gauge, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	stmt, err := db.PrepareContext(ctx, sqlGauge)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &gauge{db, stmt}, nil
}

// Gauge runs a fixed statement of some tenths of a millisecond and returns how long it took: twice that means that the
// machine does half as much. It lets nobody run meanwhile (see elsewhere), so that it measures the machine and not the
// service's load. ctx ends it only before it begins. One call at a time: others would wait for each other and count that.
func (s *Store) Gauge(ctx context.Context) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("orders: gauge: %w", err)
	}
	var total int
	// With a context that can end, database/sql and the driver start goroutines and wait for them: that would let the load in.
	ctx = context.WithoutCancel(ctx)
	start := time.Now()
	if err := s.gauge.stmt.QueryRowContext(ctx, s.sizes.Orders, gaugedLines).Scan(&total); err != nil {
		return 0, fmt.Errorf("orders: gauge: %w", err)
	}
	return time.Since(start), nil
}
