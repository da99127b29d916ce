package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// told is a test that records its errors and continues.
type told struct {
	testing.TB
	errors []string
}

func (f *told) Helper() {}
func (f *told) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

func TestEqual(t *testing.T) {
	path := filepath.Join(t.TempDir(), "testdata", "x.txt")
	*Update = true
	Equal(t, path, "one\n")
	*Update = false
	if text, err := os.ReadFile(path); err != nil || string(text) != "one\n" {
		t.Fatalf("written: %q, %v", text, err)
	}
	Equal(t, path, []byte("one\n"))
	f := &told{TB: t}
	Equal(f, path, "two\n")
	if len(f.errors) != 1 || !strings.Contains(f.errors[0], path) || !strings.Contains(f.errors[0], "one") {
		t.Errorf("told: %q", f.errors)
	}
}
