package node

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheLastLinesOfALog(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("1\n2\n3\n\n4\n5\n6\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := LastLines(log); got != "2; 3; 4; 5; 6" {
		t.Errorf("got %q", got)
	}
	if got := LastLines(log + "x"); got != "" {
		t.Errorf("of no file: %q", got)
	}
}
