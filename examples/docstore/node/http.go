package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/spillway-go/spillway/examples/docstore/store"
)

const (
	maxValue   = 1 << 20 // bytes
	maxEntries = 1024    // of the log in one answer
)

// Handler serves clients: GET and PUT /kv/{key}, the body being the value.
func Handler(l *Leader) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /kv/{key}", func(w http.ResponseWriter, r *http.Request) {
		value, err := l.Get(r.Context(), r.PathValue("key"))
		if err != nil {
			fail(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(value) // fails only when the client is gone
	})
	mux.HandleFunc("PUT /kv/{key}", func(w http.ResponseWriter, r *http.Request) {
		value, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxValue))
		if err != nil {
			fail(w, r, err)
			return
		}
		if err := l.Put(r.Context(), r.PathValue("key"), value); err != nil {
			fail(w, r, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

func fail(w http.ResponseWriter, r *http.Request, err error) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, store.ErrNotFound):
		http.Error(w, "not found", http.StatusNotFound)
	case errors.As(err, &tooLarge):
		http.Error(w, "body: must be at most "+strconv.Itoa(maxValue)+" bytes", http.StatusRequestEntityTooLarge)
	case errors.Is(r.Context().Err(), context.Canceled):
		// The client left: nobody would read an answer.
	case r.Context().Err() != nil || errors.Is(err, context.DeadlineExceeded):
		http.Error(w, "deadline exceeded", http.StatusGatewayTimeout)
	default:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// LogHandler serves the follower: GET /log?applied=INDEX&n=N. It is not for clients: who asks is believed.
func LogHandler(l *Leader) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /log", func(w http.ResponseWriter, r *http.Request) {
		applied, err1 := strconv.ParseInt(r.FormValue("applied"), 10, 64)
		n, err2 := strconv.Atoi(r.FormValue("n"))
		if err1 != nil || err2 != nil || applied < 0 || n < 1 || n > maxEntries {
			http.Error(w, fmt.Sprintf("applied must be a whole number from 0, n 1 to %d", maxEntries), http.StatusBadRequest)
			return
		}
		entries, err := l.Entries(r.Context(), applied, n)
		if err != nil {
			fail(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(entries)
	})
	return mux
}

// Fetch returns the fetch that Follow wants, from the LogHandler at the URL base.
func Fetch(base string) func(ctx context.Context, applied int64, n int) ([]store.Entry, error) {
	return func(ctx context.Context, applied int64, n int) ([]store.Entry, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/log?applied=%d&n=%d", base, applied, n), nil)
		if err != nil {
			return nil, err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, fmt.Errorf("node: fetching the log: %w", err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("node: fetching the log: status %d", res.StatusCode)
		}
		var entries []store.Entry
		if err := json.NewDecoder(res.Body).Decode(&entries); err != nil {
			return nil, fmt.Errorf("node: fetching the log: %w", err)
		}
		return entries, nil
	}
}
