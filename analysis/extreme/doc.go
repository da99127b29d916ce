// Package extreme answers "what is the 99.99999th percentile?" when too few packets were measured
// to read it off. It uses peaks over threshold, which fits a generalised Pareto distribution to the
// slowest packets (Pickands 1975; Coles, An Introduction to Statistical Modeling of Extreme Values,
// 2001, chapter 4), or says why such a fit would be a guess.
//
// A fit of a tail is easy to make and seldom true: the slowest packets come in clusters when a host
// takes a core away, from several causes at once, and not all the time. So each answer is checked
// first, and refused with reasons if it fails (checks.go).
//
// The data flow: a Sample (sample.go) has the slowest packets exactly, with their times. Find their
// clusters (cluster.go); fit a ladder of thresholds (fit.go) and test them (goodness.go); choose
// the lowest that holds, check it, extrapolate, and bound the result (quantile.go). Of does it all
// (tail.go).
//
// It is pure and deterministic: random numbers have a fixed seed. Values have the unit of the
// sample, nanoseconds for latencies. docs/statistics.md has the formulas.
package extreme
