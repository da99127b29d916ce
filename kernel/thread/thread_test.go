package thread

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// Many goroutines begin at once, so that some of them begin on the main thread.
func TestNothingRunsOnTheMainThread(t *testing.T) {
	wrong := errors.New("wrong")
	failures := make(chan error)
	const calls = 200
	for range calls {
		go func() {
			failures <- Ending(func() error {
				if unix.Gettid() == unix.Getpid() {
					return errors.New("on the main thread")
				}
				return wrong
			})
		}()
	}
	for range calls {
		if err := <-failures; !errors.Is(err, wrong) {
			t.Error(err)
		}
	}
}
