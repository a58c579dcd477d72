// Package meter watches the process that it runs in.
package meter
