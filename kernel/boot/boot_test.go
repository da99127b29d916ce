package boot

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

// TestABootThatCannotBeToldIsAnError: a boot that is unknown is an error until it can be read; from then on no
// file is needed.
func TestABootThatCannotBeToldIsAnError(t *testing.T) {
	known.Store(nil)
	labtest.WithoutFiles(t, func() {
		if id, err := ID(); !errors.Is(err, unix.EMFILE) {
			t.Errorf("%q, %v", id, err)
		}
	})
	id, err := ID()
	if err != nil || id == "" {
		t.Fatalf("%q, %v", id, err)
	}
	labtest.WithoutFiles(t, func() {
		if again, err := ID(); again != id || err != nil {
			t.Errorf("%q, and not %q: %v", again, id, err)
		}
	})
}
