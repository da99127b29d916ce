// Package spec holds what a user writes: the experiment file, its types, its
// rules and its JSON Schema.
//
// A file becomes experiments in three pure steps: Load parses it into a tree that remembers line
// and column, File.Set and the sweep change values in that tree, and File.Runs turns it into the
// types below and refuses unknown keys and what cannot work on any host. Nothing here looks at the
// host; package plan does that.
//
// The package imports nothing of the project and needs no privileges.
package spec
