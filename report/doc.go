// Package report turns a result folder into what people read: a table for the
// terminal, a line for each trial while they run, a comparison of two results,
// and a page that opens offline.
//
// It reads what package result gives it and needs neither the host nor
// privileges, so that a folder copied to another machine shows the same.
package report
