// Package extreme answers "what is the 99.99999th percentile?" where too few packets
// were measured to read it off: by peaks over threshold, which fits a generalised Pareto
// distribution to the slowest packets (Pickands 1975; Coles, An Introduction to
// Statistical Modeling of Extreme Values, 2001, chapter 4), or by saying why such a fit
// would be a guess.
//
// A fit of a tail is easily made and seldom true: the slowest packets come in clusters
// when a host takes a core away, from several causes at once, and not all the time. So
// each answer is checked, and refused with its reasons, before it is given (checks.go).
//
// The way of the data: a Sample (sample.go) has the slowest packets exactly, with their
// times. Their clusters are found (cluster.go); a ladder of thresholds is fitted (fit.go)
// and tested (goodness.go); the lowest that holds is chosen, checked, extrapolated, and
// bounded (quantile.go). Of does it all (tail.go).
//
// It is pure, and deterministic: random numbers have a fixed seed. Values have the unit of
// the sample, nanoseconds for latencies. docs/statistics.md has the formulas.
package extreme
