// Package selection says which tests a change can break. It goes by contents and not by history: the tests of a package
// have a digest of everything that they are made of and read.
//
//	tree ──▸ units ──▸ inputs ──▸ digest ─┐
//	                                      ├─▸ selected, or verified before
//	test/verified: unit digest … ─────────┘
//
// A unit is a package with tests, or tests that have no package (the engine's in C, the page's, those of a new Debian).
// The file test/verified has a line a unit: it has passed whole, in its long form, with exactly these contents.
// `make test` leaves such units out, and `make test-all` writes the lines.
//
// The inputs of a package's tests:
//
//   - the files in its folder, and in the folders below it that are no package: code, tests, testdata, embedded files
//   - the Go files of what it and its tests import, in every module of the repository, and what those embed; of an
//     embedded file that is built, its sources
//   - of package labtest, which nearly all tests import, the declarations that they use
//   - of each imported module of others, its line of go.mod, and the lines of indirect modules
//   - files and folders of the repository that a string in its tests names
//   - where its tests build labs: the sources of the programs that a string in all of this names
//   - Go's version, and what no rule maps
//
// Everything here is pure over a Tree, so no module has to be downloaded to know what there is to be done. Versions of
// the host are no input.
//
// That the rules are complete is checked where tests run: a test that opens a file of the repository that is no input of its package
// fails (package passes, by the log that Go's test cache is made from).
package selection
