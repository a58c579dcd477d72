package orders

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
)

// Handler serves the four endpoints from s.
func Handler(s *Store) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		serveByID(w, r, s.Order)
	})
	mux.HandleFunc("GET /customers/{id}/orders", func(w http.ResponseWriter, r *http.Request) {
		serveByID(w, r, s.History)
	})
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		place(w, r, s)
	})
	mux.HandleFunc("GET /reports/top", func(w http.ResponseWriter, r *http.Request) {
		top, err := s.Top(r.Context(), s.sizes.latest())
		reply(w, r, http.StatusOK, top, err)
	})
	return mux
}

func serveByID[T any](w http.ResponseWriter, r *http.Request, read func(context.Context, int) (T, error)) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id < 1 {
		http.Error(w, "id: must be a whole number from 1", http.StatusBadRequest)
		return
	}
	v, err := read(r.Context(), id)
	reply(w, r, http.StatusOK, v, err)
}

func place(w http.ResponseWriter, r *http.Request, s *Store) {
	var d Draft
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&d); err != nil {
		http.Error(w, "body: must be an order as JSON: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err := d.check(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id, total, err := s.Place(r.Context(), d)
	reply(w, r, http.StatusCreated, map[string]int64{"id": id, "total": int64(total)}, err)
}

// reply writes v, or the status that err stands for. A database that says SQLITE_BUSY is an internal error,
// as it is in services that do not expect it.
func reply(w http.ResponseWriter, r *http.Request, status int, v any, err error) {
	switch {
	case err == nil:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v) // fails only when the client is gone
	case errors.Is(r.Context().Err(), context.Canceled):
		// The client left: nobody would read an answer.
	case errors.Is(err, context.DeadlineExceeded) || r.Context().Err() != nil:
		http.Error(w, "deadline exceeded", http.StatusGatewayTimeout)
	case errors.Is(err, sql.ErrNoRows):
		http.Error(w, "not found", http.StatusNotFound)
	case errors.Is(err, ErrStock):
		http.Error(w, err.Error(), http.StatusConflict)
	default:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
