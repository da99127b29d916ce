// Package spec holds what a user writes: the experiment file, its types, its
// rules and its JSON Schema.
//
// A file becomes an Experiment in three pure steps: Load parses it into a tree
// that remembers line and column, Set and the sweep change values in that tree,
// and Decode turns the tree into the types below, refusing what it does not
// know. Nothing here looks at the host; package plan does that.
//
// The package imports nothing of the project and needs no privileges.
package spec
