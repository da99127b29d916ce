package labtest

import (
	"strings"
	"testing"
)

// guarantee is what such a test logs. test/passes and test/vm look for it, and hack/test-cluster.sh by the same words.
const guarantee = "tests a guarantee: a failure is not repeated"

// Guarantee is for tests of what nines promises to do each time: nothing is lost or left behind wherever it is killed, no
// port is given twice, undo is complete. One failure shows that the promise is broken, however often the test passes, so
// no such test runs again for a second chance. It comes first in a test.
func Guarantee(t testing.TB) {
	t.Helper()
	t.Log(guarantee)
}

// IsGuarantee reports from what a test printed whether it tests a guarantee.
func IsGuarantee(output string) bool { return strings.Contains(output, guarantee) }
