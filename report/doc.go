// Package report turns a result folder into output for people: a table for the terminal, a line for
// each running trial, a comparison of two results, and a page that works offline.
//
// It reads what package result returns and needs neither the host nor privileges, so a folder
// copied to another machine shows the same.
package report
