package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestOutFilesAreWhole: what --out names is replaced when the new file is whole, and a symbolic link
// of that name is not followed.
func TestOutFilesAreWhole(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(target, []byte("precious"), 0o644), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	write := func(text string, failure error) func(io.Writer) error {
		return func(out io.Writer) error {
			_, err := io.WriteString(out, text)
			return errors.Join(err, failure)
		}
	}
	broken := errors.New("broken")
	if err := writeWhole(target, write("half", broken)); !errors.Is(err, broken) {
		t.Errorf("a failed write: %v", err)
	}
	if err := writeWhole(link, write("page", nil)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{target: "precious", link: "page"} {
		if text, err := os.ReadFile(path); err != nil || string(text) != want {
			t.Errorf("%s holds %q (%v)", path, text, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left: %v (%v)", entries, err)
	}
	if err := writeWhole("/dev/null", write("x", nil)); err != nil {
		t.Errorf("a device: %v", err)
	}
}
