// Package test holds what must be true of the project as a whole: which package
// imports which, that links in the documents lead somewhere, that nothing of one
// developer's machine is in a file. It needs git and the go command, and no root.
package test
