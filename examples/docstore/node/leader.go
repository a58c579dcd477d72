package node

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/spillway-go/spillway/examples/docstore/store"
)

// mostPerCommit bounds how many writes share a transaction, so that the first of them does not wait for hundreds.
const mostPerCommit = 128

// ErrClosed is returned by Put after Close.
var ErrClosed = errors.New("node: the leader is closed")

// Leader takes writes. It is safe for concurrent use; make it with NewLeader.
type Leader struct {
	store   *store.Store
	writes  chan *write
	quit    chan struct{}
	wg      sync.WaitGroup
	closing sync.Once

	committed atomic.Int64
	applied   atomic.Int64 // by the follower; -1 until it was heard of
}

type write struct {
	entry store.Entry
	done  chan error // buffered: nobody may be there any more
}

// NewLeader starts the goroutine that commits what is put into s. The caller closes s, after Close.
func NewLeader(s *store.Store) *Leader {
	l := &Leader{store: s, writes: make(chan *write), quit: make(chan struct{})}
	l.committed.Store(s.Last())
	l.applied.Store(-1)
	l.wg.Go(l.commit)
	return l
}

// Close ends the commits. Puts under way return ErrClosed.
func (l *Leader) Close() {
	l.closing.Do(func() { close(l.quit) })
	l.wg.Wait()
}

// Put writes a value and returns when it is committed. When ctx ends first the write may or may not be there.
func (l *Leader) Put(ctx context.Context, key string, value []byte) error {
	w := &write{store.Entry{Key: key, Value: value}, make(chan error, 1)}
	select {
	case l.writes <- w:
	case <-l.quit:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Get returns a key's value, or store.ErrNotFound.
func (l *Leader) Get(ctx context.Context, key string) ([]byte, error) { return l.store.Get(ctx, key) }

// Entries returns the log after an index, n entries at most, to a follower that has applied all up to that index.
func (l *Leader) Entries(ctx context.Context, applied int64, n int) ([]store.Entry, error) {
	l.applied.Store(applied)
	return l.store.After(ctx, applied, n)
}

// Lag is how many committed writes the follower has not applied; false until it was heard of. A follower that has gone
// leaves its lag to grow with every write.
func (l *Leader) Lag() (entries int64, ok bool) {
	applied := l.applied.Load()
	if applied < 0 {
		return 0, false
	}
	return max(0, l.committed.Load()-applied), true
}

// commit writes what waits, together: one transaction costs about the same for one write and for twenty.
func (l *Leader) commit() {
	var batch []*write
	var entries []store.Entry
	for {
		batch, entries = batch[:0], entries[:0]
		select {
		case w := <-l.writes:
			batch = append(batch, w)
		case <-l.quit:
			return
		}
	more:
		for len(batch) < mostPerCommit {
			select {
			case w := <-l.writes:
				batch = append(batch, w)
			default:
				break more
			}
		}
		for _, w := range batch {
			entries = append(entries, w.entry)
		}
		err := l.store.Append(context.Background(), entries)
		if err == nil {
			l.committed.Store(l.store.Last())
			// What the follower has is of no more use to anybody.
			err = l.store.Trim(context.Background(), l.applied.Load())
		}
		for _, w := range batch {
			w.done <- err
		}
		clear(batch)
		clear(entries) // else the values stay until they are overwritten
	}
}
