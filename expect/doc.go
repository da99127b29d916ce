// Package expect is the language of expectations: "p99 < 100us", "loss == 0 where kind=veth", "b.p99 <= 1.05 * a.p99". It
// reads them, and decides them from intervals that others compute. docs/expectations.md describes the language.
//
// Pure: no file and no clock; the package imports nothing of the project.
package expect
