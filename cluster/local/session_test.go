package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nines.dev/nines/journal/folder"
	"nines.dev/nines/kernel/replace"
)

// What someone has put into a cluster's folder stays, and so does what a link there leads to.
func TestOnlyWhatNinesWroteIsRemoved(t *testing.T) {
	s := Session{Root: t.TempDir(), Name: "c"}
	elsewhere := t.TempDir()
	kept := filepath.Join(elsewhere, "kept")
	held, err := folder.Begin(s.place())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		filepath.Join(s.part("n1"), "kubelet.yaml"), s.recordPath() + replace.Unfinished, s.relayLog(), kept,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(held.Close(), os.Symlink(elsewhere, s.images())); err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(s.dir(), "notes.txt")
	if err := os.WriteFile(theirs, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	var notes []string
	if err := s.Down(context.Background(), func(note string) { notes = append(notes, note) }); err != nil {
		t.Fatal(err)
	}
	if want := []string{theirs + " was not made by nines; left as it is"}; !slices.Equal(notes, want) {
		t.Errorf("said %q, not %q", notes, want)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(s.dir())
	if err != nil || len(left) != 1 || left[0].Name() != "notes.txt" {
		t.Errorf("%v stay: %v", left, err)
	}
	if err := s.Down(context.Background(), nil); !errors.As(err, new(*folder.ForeignError)) {
		t.Errorf("what is left counts as a cluster: %v", err)
	}
	if err := os.Remove(theirs); err != nil {
		t.Fatal(err)
	}
	if err := s.Down(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Down(context.Background(), nil); !errors.As(err, new(*NotFoundError)) {
		t.Errorf("a second time: %v", err)
	}
}
