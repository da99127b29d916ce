// Package confidence says how certain a figure is: a bootstrap interval for a statistic of repeats,
// such as their median, and an interval for a percentile within one trial or several, by the spread
// of packets over time.
//
// It is pure: no files, no clock; the same values and seed give the same interval. It
// is safe for concurrent use. docs/statistics.md has the formulas and their limits.
package confidence
