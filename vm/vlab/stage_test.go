package vlab

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStageOfWhatItIsIn: a folder that contains the copy, as /tmp does, is copied without
// it.
func TestStageOfWhatItIsIn(t *testing.T) {
	source := t.TempDir()
	tree := filepath.Join(source, "nines-vlab", "files")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(source, "lab.yaml"), []byte("name: mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(tree, "0")
	if err := stage(source, target); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(target, "lab.yaml")); err != nil || string(text) != "name: mine\n" {
		t.Errorf("the file: %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(target, "nines-vlab", "files")); !os.IsNotExist(err) {
		t.Errorf("the copy is in the copy: %v", err)
	}
}
