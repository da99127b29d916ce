// Package figure draws the figures of papers from results: latency by percentile,
// histograms, the slowest packets over time, rates, loss and throughput.
//
// It works in two steps. Of turns results and published points into a Figure, a plain value with
// everything to draw in the axes' units; Write renders it as SVG, PDF, PNG or PGF/TikZ. Both are
// pure: the same input gives the same bytes, without the host, a display, system fonts or
// privileges.
//
// The page of package report chooses and computes its figures with the same functions.
package figure
