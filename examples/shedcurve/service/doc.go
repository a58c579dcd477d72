// Package service runs the order service in a process of its own, and speaks with it from the process that measures it.
//
// The process makes a [Service] of a store and calls [Service.Listen]; its parent started it with [Start], and has a [Child].
// Beside the orders the process serves what the parent wants to know, on another address: what it has used, how fast the
// machine is, and a reset of the data.
package service
