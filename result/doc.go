// Package result defines the user's output: the format of a result folder, its store and its
// exports. A folder is enough to make every table and figure again on another machine.
//
// The package imports nothing of the project and needs no privileges.
package result
