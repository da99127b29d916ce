// Package setting changes kernel files that hold one value, sysctls and control group
// files, as steps of a journal, and restores them.
//
// Several labs and commands can set the same file of a host, and end in any order: a shared
// ledger records what each has set (layers.go). A value that another program has set since then
// is left unchanged.
package setting
