// Package workload is what the order service is asked for in a load test: by which tenants, in which proportions, and
// how large its data should be for that.
package workload
