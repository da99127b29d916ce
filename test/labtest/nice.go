package labtest

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Nice is the least nice value at least as high as wanted that this process may give to another: only root may go below
// its own, and tests may be run by nice(1).
func Nice(t *testing.T, wanted int) int {
	t.Helper()
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	if own := 20 - raw; unix.Geteuid() != 0 { // getpriority(2): the call returns 20 - nice
		return max(own, wanted)
	}
	return wanted
}

// UsualNice is for a test that begins a lab: nines refuses that to an ordinary user's nice process, as its engines would be as
// nice.
func UsualNice(t *testing.T) {
	t.Helper()
	Require(t, "the usual niceness: an ordinary user has started the tests by nice(1)", Nice(t, 0) == 0)
}
