// Package regulators turns what a service can measure about itself into
// pressure: 1 is as much as the resource should bear, 0 is idle, 2 is twice too
// much. A controller that is given a signal sheds while its pressure is above
// the setpoint.
//
// Three interfaces are how one brings one's own: a [Signal] is polled and
// speaks for the whole process, a [KeyedSignal] is polled and speaks for single
// tenants, callers or keys, and a [Guard] stands in each request's way and
// holds what must not be passed even for an instant. None needs an import of
// this package to be implemented.
//
// Signals built in: [Func] makes one of a function and [Value] is pushed instead
// of polled. [Goroutines], [SchedLatency], [Heap] and [GCShare] watch the Go runtime,
// [CPU] and [PSI] what Linux and its cgroups say, [DBPool] the connections of a
// sql.DB. [Scaled], [Smoothed], [Hysteresis], [Rise] and [Max] build one of others.
// Each reads a finite pressure of at least 0 or returns an error, is safe for
// concurrent use, and starts no goroutine.
//
// Guards built in: [InflightBytes] bounds the memory that payloads take, [HeapCut]
// ends intake where memory ends, [HotKey] bounds the share of one key under load,
// [Rate] what each key takes over time.
package regulators
