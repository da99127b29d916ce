package host

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

// TestAHostThatCannotBeReadLacksNothing: without file descriptors the host is not said to lack
// what could not be looked for.
func TestAHostThatCannotBeReadLacksNothing(t *testing.T) {
	labtest.WithoutFiles(t, func() {
		_, err := Read()
		if !errors.Is(err, unix.EMFILE) || errors.As(err, new(*exit.MissingError)) || !strings.Contains(err.Error(), "ulimit -n") {
			t.Errorf("got %v", err)
		}
	})
}
