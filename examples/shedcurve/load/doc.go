// Package load offers load to an HTTP or gRPC service and counts what becomes of it.
//
// [Run] is an open loop: requests are due at the times of a Poisson process, with as many in each slice as the
// rate says, and are sent then, whatever has become of those before. Latency counts from the time a request
// was due, so neither a service that stalls nor a generator that is late can hide (no coordinated omission),
// and a client's deadline counts from there too. [Capacity] is a closed loop: rising numbers of clients that
// each wait for their answer, up to the knee.
//
// The driver is our own because the library one would take, vegeta, measures from the moment a worker has
// picked a request up and not from when it was due, so it can neither report its own lag nor tell the service how much
// of the deadline is left, and it counts by target, not by tier and tenant.
//
// Nothing here retries: offered load is then what the caller asked for.
package load
