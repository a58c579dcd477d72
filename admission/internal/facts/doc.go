// Package facts names what can be told of a controller in numbers, once for all
// monitoring systems: promadmission and oteladmission tell the same by it.
package facts
