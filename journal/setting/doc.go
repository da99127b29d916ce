// Package setting changes files of the kernel that hold one value, sysctls and those of
// control groups, as steps of a journal, and puts back what they held.
//
// Several can set one file of a host, and go in any order: what each has set is in a ledger
// that they share (layers.go). A value that somebody else has set since is left alone.
package setting
