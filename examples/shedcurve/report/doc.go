// Package report holds what a load test found, the shed curve, and writes it
// down: as a table for the terminal, as JSON and CSV for programs, as an SVG
// picture and as one self-contained interactive HTML page.
//
// A [Report] has an arm for each way the service was run (without Spillway
// and with it, or somebody's own service) and a point for each offered load.
// Offered load is counted in multiples of capacity, the most the service can
// finish per second when nothing is asked of it beyond that; so the best any
// service can do is the line min(x, 1), and every picture shows it.
//
// A figure that was not measured is absent, never zero: a nil pointer in Go,
// null in JSON, an empty cell in a table, a gap in a line.
//
// The page embeds uPlot (MIT licence, see assets/uPlot.LICENSE).
package report
