// Package confidence says how certain a figure is: a bootstrap interval for a statistic of repeats,
// such as their median, and an interval for a percentile within one trial, by the spread of its
// packets over time, or by ranks if packets are independent.
//
// It is pure: no files, no clock; the same values and seed give the same interval. It
// is safe for concurrent use. docs/statistics.md has the formulas and their limits.
package confidence
