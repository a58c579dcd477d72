package main

import (
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"time"
)

const (
	conns   = 40                     // requests that the back end works on at a time
	lookup  = 250 * time.Millisecond // what a row takes
	write   = 10 * time.Millisecond  // what an upload takes, and more by its size:
	writeMB = 480 * time.Millisecond
	largest = 4 << 20 // bytes of an upload
)

// backend stands for a database of which there is only so much: its connections.
type backend chan struct{}

func newBackend() backend { return make(backend, conns) }

// work has a connection for a time. Whoever asked may be gone by then; a query goes on all the same.
func (b backend) work(d time.Duration) {
	b <- struct{}{}
	time.Sleep(d)
	<-b
}

func (b backend) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /rows/{key}", func(w http.ResponseWriter, r *http.Request) {
		b.work(lookup)
		fmt.Fprintln(w, r.PathValue("key"))
	})
	mux.HandleFunc("PUT /files/{name}", func(w http.ResponseWriter, r *http.Request) {
		file, err := read(r)
		if err != nil {
			http.Error(w, http.StatusText(http.StatusBadRequest), http.StatusBadRequest)
			return
		}
		b.work(write + writeMB*time.Duration(len(file))/1e6)
		w.Header().Set("ETag", fmt.Sprintf(`"%08x"`, crc32.ChecksumIEEE(file)))
		w.WriteHeader(http.StatusCreated)
	})
	return mux
}

// read holds the whole body in memory, and only once if its length is known.
func read(r *http.Request) ([]byte, error) {
	if r.ContentLength < 0 {
		return io.ReadAll(r.Body)
	}
	file := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, file)
	return file, err
}
