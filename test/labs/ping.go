package labs

import (
	"strings"
	"testing"
)

// Pinged fails the test unless each packet of a ping came back, once.
func Pinged(t *testing.T, what, out string) {
	t.Helper()
	if !strings.Contains(out, " 0% packet loss") || strings.Contains(out, "DUP") || strings.Contains(out, "duplicates") {
		t.Errorf("%s: %s", what, out)
	}
}
