// Package growth tests that nines' work grows as what it works on does. It counts how often the blocks of nines' own
// code run (counter/), so that no busy host can fail a test, and no loop is too cheap to be seen.
package growth
