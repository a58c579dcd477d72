// Package process runs parts of an example as processes of their own, so that none has the others' heap, goroutines and
// garbage collector.
//
// A child is the parent's own executable with other arguments. It says hello with one JSON value on its standard output
// and ends when its standard input does, also where the parent was killed.
package process
