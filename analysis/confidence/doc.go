// Package confidence says how sure a figure is: a bootstrap interval of what repeats
// have in common (their median, or any statistic), and the interval that the order of
// the samples gives to a percentile within one trial.
//
// It is pure: no files, no clock; the same values and seed give the same interval. It
// is safe for concurrent use. docs/statistics.md has the formulas and their limits.
package confidence
