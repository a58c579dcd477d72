// Package admission decides over requests: run now, wait a little, or be shed.
// Draft of the package comment.
package admission
