// Command guards is a small store behind the three guards, which hold what must not be passed even for an instant.
//
//	GOMEMLIMIT=54MiB go run ./examples/guards
//
// The uploads that it holds in memory have at most 32 MiB, and small ones go on while bulk has filled that; a row that
// everybody asks for has a tenth of what is in flight and leaves the rest to the others; a tenant has a rate. The tests
// hold the first two to that over HTTP, each beside a run without its guard.
//
// A bound on payloads alone is none on the process: until it is collected, garbage takes as much again and more. With half
// of the memory for payloads, and GOMEMLIMIT somewhat below the whole, the process stays within 64 MiB.
package main
