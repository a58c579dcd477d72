package store

import (
	"context"
	"fmt"
	"hash/crc32"
	"math"
)

// After returns the log's entries after an index, n at most.
func (s *Store) After(ctx context.Context, index int64, n int) ([]Entry, error) {
	rows, err := s.after.QueryContext(ctx, index, n)
	if err != nil {
		return nil, fmt.Errorf("store: reading the log: %w", err)
	}
	defer rows.Close()
	var entries []Entry
	for rows.Next() {
		var e Entry
		if err := rows.Scan(&e.Index, &e.Key, &e.Value); err != nil {
			return nil, fmt.Errorf("store: reading the log: %w", err)
		}
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

// Check compares the values of n keys at most, after a key, with their checksums. It returns the last key it came to,
// empty when there was none after that key. A value that does not fit its checksum is an error.
func (s *Store) Check(ctx context.Context, after string, n int) (last string, err error) {
	err = s.walk(ctx, after, n, func(key string, value []byte, sum uint32) error {
		last = key
		if got := crc32.ChecksumIEEE(value); got != sum {
			return fmt.Errorf("store: key %q: checksum is %08x, must be %08x", key, got, sum)
		}
		return nil
	})
	return last, err
}

// Digest is a checksum over all keys and values: that of two stores is the same if they hold the same.
func (s *Store) Digest(ctx context.Context) (digest uint32, err error) {
	err = s.walk(ctx, "", math.MaxInt32, func(key string, value []byte, _ uint32) error {
		// The zero byte keeps "a"+"bc" from being "ab"+"c".
		digest = crc32.Update(digest, crc32.IEEETable, append([]byte(key), 0))
		digest = crc32.Update(digest, crc32.IEEETable, value)
		return nil
	})
	return digest, err
}

func (s *Store) walk(ctx context.Context, after string, n int, see func(key string, value []byte, sum uint32) error) error {
	rows, err := s.rows.QueryContext(ctx, after, n)
	if err != nil {
		return fmt.Errorf("store: scanning: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		var value []byte
		var sum uint32
		if err := rows.Scan(&key, &value, &sum); err != nil {
			return fmt.Errorf("store: scanning: %w", err)
		}
		if err := see(key, value, sum); err != nil {
			return err
		}
	}
	return rows.Err()
}
