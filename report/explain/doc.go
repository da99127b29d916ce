// Package explain describes why packets were late: a sentence and a remedy for each cause that
// package analysis/attribution found, and the table of nines explain.
//
// Remedies name settings of nines tune, findings of nines doctor and keys of the experiment file. A
// test of cmd/nines checks that all of them exist.
package explain
