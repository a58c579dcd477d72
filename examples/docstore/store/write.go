package store

import (
	"context"
	"database/sql"
	"fmt"
	"hash/crc32"
)

// Append writes entries as the next in the log, all or none, and sets their Index.
func (s *Store) Append(ctx context.Context, entries []Entry) error {
	for i := range entries {
		entries[i].Index = s.last + 1 + int64(i)
	}
	return s.write(ctx, entries, func(tx *sql.Tx, e Entry) error {
		_, err := tx.StmtContext(ctx, s.log).ExecContext(ctx, e.Index, e.Key, e.Value)
		return err
	})
}

// Apply takes in entries of another store's log, all or none. The first must follow the last one taken in.
func (s *Store) Apply(ctx context.Context, entries []Entry) error {
	for i, e := range entries {
		if want := s.last + 1 + int64(i); e.Index != want {
			return fmt.Errorf("store: applying: entry %d comes where %d is due", e.Index, want)
		}
	}
	return s.write(ctx, entries, func(*sql.Tx, Entry) error { return nil })
}

func (s *Store) write(ctx context.Context, entries []Entry, also func(*sql.Tx, Entry) error) error {
	if len(entries) == 0 {
		return nil
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("store: writing: %w", err)
	}
	defer tx.Rollback() // does nothing after a commit
	put, last := tx.StmtContext(ctx, s.put), entries[len(entries)-1].Index
	for _, e := range entries {
		if e.Value == nil {
			e.Value = []byte{} // nil would be SQL's NULL
		}
		if _, err := put.ExecContext(ctx, e.Key, e.Value, crc32.ChecksumIEEE(e.Value)); err != nil {
			return fmt.Errorf("store: writing entry %d: %w", e.Index, err)
		}
		if err := also(tx, e); err != nil {
			return fmt.Errorf("store: writing entry %d: %w", e.Index, err)
		}
	}
	if _, err := tx.StmtContext(ctx, s.setLast).ExecContext(ctx, last); err != nil {
		return fmt.Errorf("store: writing: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("store: writing: %w", err)
	}
	s.last = last
	return nil
}

// CopyTo makes a copy of the store in the file at path, which must not exist: what a new follower begins with.
func (s *Store) CopyTo(ctx context.Context, path string) error {
	if _, err := s.db.ExecContext(ctx, `VACUUM INTO ?`, path); err != nil {
		return fmt.Errorf("store: copying to %s: %w", path, err)
	}
	return nil
}

// Trim forgets the log up to and with an index.
func (s *Store) Trim(ctx context.Context, index int64) error {
	if _, err := s.trim.ExecContext(ctx, index); err != nil {
		return fmt.Errorf("store: trimming: %w", err)
	}
	return nil
}
