// Package orders is the service that the load test loads: an order service over SQLite, as plain as such
// services are. It has a database/sql pool, prepared statements, a context on every statement, and nothing
// that protects it from overload: no queue, no limit, no cache.
//
//	GET  /orders/{id}             one order: lines, the customer's standing, what else is bought with it
//	GET  /customers/{id}/orders   a customer's latest orders and his turnover by month
//	POST /orders                  a transaction: price the lines, take the stock, write the order
//	GET  /reports/top             scans with GROUP BY: best products, customers, categories and regions among the latest orders
//
// The same four are served over gRPC, by [Register].
//
// Every endpoint takes several statements, each with a connection of the pool for itself, as handlers do that
// were written one query at a time. That is what makes an overloaded service waste its work: a request waits
// for the pool several times, and one that gives up at its last statement has cost nearly as much as one
// that succeeds. The four endpoints cost about the same, some milliseconds of processor time (an order a little
// less, a report a little more), so that a count of requests is also a measure of work and shedding the dear ones
// is no way to look good.
package orders
