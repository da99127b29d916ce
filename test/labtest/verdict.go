package labtest

import "strings"

// NoneValid reports whether nines ended with 1 because no trial is valid, which a host whose CPUs are busy does to short
// ones. It has measured all the same: tests of other things than verdicts take that for done.
func NoneValid(said string) bool { return strings.Contains(said, "no trial is valid") }
