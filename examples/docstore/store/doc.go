// Package store is one replica's data on disk: keys and values, the log of writes that made them, and how far that log
// has been taken in, all in one SQLite file.
package store
