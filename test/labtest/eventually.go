package labtest

import (
	"testing"
	"time"
)

// Eventually waits until something is so. A busy host may take long, so it waits long.
func Eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	Within(t, 60*time.Second, what, is)
}

// Within is Eventually for what takes longer, such as a boot.
func Within(t *testing.T, patience time.Duration, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("this never came: %s", what)
		}
	}
}
