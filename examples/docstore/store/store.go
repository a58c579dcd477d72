package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	_ "modernc.org/sqlite" // the driver "sqlite": pure Go, so the example needs no C compiler
)

const readers = 4 // connections; writes come from one goroutine and need one of their own

// A value's checksum lies beside it: it is what the sweep has to check.
const schema = `
CREATE TABLE IF NOT EXISTS kv (key TEXT PRIMARY KEY, value BLOB NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS log (idx INTEGER PRIMARY KEY, key TEXT NOT NULL, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS last (one INTEGER PRIMARY KEY CHECK (one = 1), idx INTEGER NOT NULL);
INSERT OR IGNORE INTO last VALUES (1, 0);
`

// ErrNotFound is returned for a key that has no value.
var ErrNotFound = errors.New("store: no such key")

// Entry is one write in the log.
type Entry struct {
	Index int64  `json:"index"` // 1 for the first; without gaps
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

// Store is safe for concurrent reads beside one writer: Append, Apply and Trim must be called by one goroutine. Make it
// with Open.
type Store struct {
	db *sql.DB

	get, put, log, setLast, trim, after, rows *sql.Stmt

	last int64 // the writer's: index of the last entry in kv
}

// Open opens the store in the file at path and makes it if it is not there. What is committed survives a crash of the
// process, not of the machine: to wait for this machine's disk would tell more about that than about either arm, so the
// disk that limits the follower is a budget of its own.
func Open(ctx context.Context, path string) (_ *Store, err error) {
	db, err := sql.Open("sqlite", "file:"+url.PathEscape(path)+
		"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=busy_timeout(2000)")
	if err != nil {
		return nil, fmt.Errorf("store: opening %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("store: opening %s: %w", path, err), db.Close())
		}
	}()
	db.SetMaxOpenConns(readers + 1)
	db.SetMaxIdleConns(readers + 1)
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, err
	}
	s := &Store{db: db}
	for text, stmt := range map[string]**sql.Stmt{
		`SELECT value FROM kv WHERE key = ?`: &s.get,
		`INSERT INTO kv VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value, sum = excluded.sum`: &s.put,
		`INSERT INTO log VALUES (?, ?, ?)`:                                   &s.log,
		`UPDATE last SET idx = ?`:                                            &s.setLast,
		`DELETE FROM log WHERE idx <= ?`:                                     &s.trim,
		`SELECT idx, key, value FROM log WHERE idx > ? ORDER BY idx LIMIT ?`: &s.after,
		`SELECT key, value, sum FROM kv WHERE key > ? ORDER BY key LIMIT ?`:  &s.rows,
	} {
		if *stmt, err = db.PrepareContext(ctx, text); err != nil {
			return nil, err
		}
	}
	if err := db.QueryRowContext(ctx, `SELECT idx FROM last`).Scan(&s.last); err != nil {
		return nil, err
	}
	return s, nil
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// Last is the index of the last write taken in, 0 for none. It is for the writer's goroutine.
func (s *Store) Last() int64 { return s.last }

// Get returns a key's value, or ErrNotFound.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	var value []byte
	err := s.get.QueryRowContext(ctx, key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNotFound
	}
	return value, err
}
