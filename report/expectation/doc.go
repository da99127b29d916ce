// Package expectation decides the expectations of a result, and writes what was decided: as a table, for pages of CI, and
// as JSON.
//
// An expectation holds or is violated only by intervals, and is undecided where these do not tell; docs/expectations.md
// has the rules and how often they are wrong. The package reads result folders and changes nothing.
package expectation
