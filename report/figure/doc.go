// Package figure draws the figures of papers from results: latency by percentile,
// histograms, the slowest packets over time, rates, loss and throughput.
//
// It works in two steps. Of turns results and published points into a Figure, a plain
// value that holds what is drawn in the axes' units; Write renders it as SVG, PDF, PNG
// or PGF/TikZ. Both are pure: the same input gives the same bytes, and neither needs
// the host, a display, fonts of the system or privileges.
//
// What the page of package report shows is chosen and computed by the same functions.
package figure
