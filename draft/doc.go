// Package draft makes an experiment file of a few words: the links, runtimes, rates and programs that someone wants to try.
// It is the file of the quickstart, with what the words say in its place, and comments for a reader who will change it.
// The package is pure but for programs, which it looks up as a shell does.
package draft
