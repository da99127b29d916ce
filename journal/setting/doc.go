// Package setting changes kernel files that hold one value, sysctls and control group
// files, as steps of a journal, and restores them.
//
// Several can set the same file of a host, and end in any order: a shared ledger records
// what each has set (layers.go). A value that others have set since is left unchanged.
package setting
