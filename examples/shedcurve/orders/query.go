package orders

import (
	"context"
	"database/sql"
	"runtime"
)

// elsewhere lets others run while a statement is under way, with its connection taken. A database in a process of
// its own does that by nature: the handler waits for the network. In this one the driver is Go code, and on one
// core a handler that got the processor would run all its statements to the end; the others would wait in Go's
// scheduler, where neither a pool nor a limit ever sees them.
func elsewhere() { runtime.Gosched() }

// get runs a query for one row and returns the function that scans it. That one returns sql.ErrNoRows if there
// is none.
func get(ctx context.Context, stmt *sql.Stmt, args ...any) func(dest ...any) error {
	return func(dest ...any) error {
		rows, err := stmt.QueryContext(ctx, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		elsewhere()
		if rows.Next() {
			return rows.Scan(dest...)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
}

// collect runs a query and scans every row into a T.
func collect[T any](ctx context.Context, stmt *sql.Stmt, scan func(*sql.Rows, *T) error, args ...any) ([]T, error) {
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	elsewhere()
	var all []T
	for rows.Next() {
		var one T
		if err := scan(rows, &one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
