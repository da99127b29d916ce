package index

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/result"
)

func latestOf(t *testing.T, root string) string {
	t.Helper()
	target, err := os.Readlink(filepath.Join(root, "latest"))
	if os.IsNotExist(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func TestRemove(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, location func(*testing.T, string) Location) {
		root := t.TempDir()
		writeResult(t, root, "a", started, "veth")
		writeResult(t, root, "a", started.Add(time.Minute), "veth")
		writeResult(t, root, "b", started.Add(time.Hour), "veth")
		x := open(t, location(t, root), root)
		refresh(t, x)

		folder, err := x.Folder(t.Context(), filepath.Join(root, "latest"))
		if err != nil || folder != "b/2026-11-20T19-30-05Z" {
			t.Fatalf("latest is %q (%v)", folder, err)
		}
		looked, err := x.Removable(folder)
		if err != nil || looked.Files < 6 || looked.Bytes < 1000 {
			t.Errorf("removable: %+v (%v)", looked, err)
		}
		if err := x.Remove(t.Context(), folder); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(root, "b")); !os.IsNotExist(err) {
			t.Errorf("the empty folder of the name is left: %v", err)
		}
		if got := latestOf(t, root); got != "a/2026-11-20T18-31-05Z" {
			t.Errorf("latest leads to %q", got)
		}
		if got := strings.Join(list(t, x, Filter{}), " "); got != "a/2026-11-20T18-31-05Z a/2026-11-20T18-30-05Z" {
			t.Errorf("left: %s", got)
		}
		// Not the latest: the link stays.
		if err := x.Remove(t.Context(), "a/2026-11-20T18-30-05Z"); err != nil {
			t.Fatal(err)
		}
		if got := latestOf(t, root); got != "a/2026-11-20T18-31-05Z" {
			t.Errorf("latest leads to %q", got)
		}
		// The last one: no dangling link remains.
		if err := x.Remove(t.Context(), "a/2026-11-20T18-31-05Z"); err != nil {
			t.Fatal(err)
		}
		if got := latestOf(t, root); got != "" {
			t.Errorf("latest leads to %q", got)
		}
		entries, err := os.ReadDir(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if !strings.HasPrefix(entry.Name(), DefaultFile) {
				t.Errorf("%s is left", entry.Name())
			}
		}
		if done := refresh(t, x); done.Results != 0 || done.Removed != 0 {
			t.Errorf("afterwards: %+v", done)
		}
	})
}

// What nines did not write stays, and nothing outside the root is touched.
func TestRemoveRefuses(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	victim := writeResult(t, outside, "victim", started, "veth").Dir()
	good := writeResult(t, root, "good", started, "veth").Dir()
	write(t, filepath.Join(root, "other", "x", result.SummaryFile), `{"schema":"other/v1"}`)
	write(t, filepath.Join(root, "other", "y", result.SummaryFile), `{`)
	write(t, filepath.Join(root, "other", "z", "file"), ``)
	nested := writeResult(t, root, "nested", started, "veth").Dir()
	writeResult(t, filepath.Join(nested, "kept"), "inner", started, "veth")
	if err := os.Symlink(victim, filepath.Join(root, "good", "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "way")); err != nil {
		t.Fatal(err)
	}
	x := open(t, locate(t, "", root), root)
	refresh(t, x)
	for _, folder := range []string{"other/x", "other/y", "other/z", "other", "nested/2026-11-20T18-30-05Z", "good/out", "way/victim/" + filepath.Base(victim),
		"../" + filepath.Base(outside) + "/victim/" + filepath.Base(victim), ".", "no/such"} {
		if err := x.Remove(t.Context(), folder); err == nil {
			t.Errorf("%s was removed", folder)
		}
	}
	for _, path := range []string{victim, filepath.Join(root, "good", "out"), "/", root, outside, "no/such"} {
		if folder, err := x.Folder(t.Context(), path); err == nil {
			t.Errorf("%s is taken for %s", path, folder)
		}
	}
	for _, path := range []string{victim, good, filepath.Join(root, "other", "x"), filepath.Join(nested, "kept", "inner"), filepath.Join(root, "good", "out")} {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s is gone: %v", path, err)
		}
	}
}

// Removing a result removes the links in it, not their targets.
func TestRemoveDoesNotFollowLinks(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	kept := filepath.Join(outside, "kept")
	write(t, kept, "text")
	dir := writeResult(t, root, "one", started, "veth").Dir()
	if err := os.Symlink(outside, filepath.Join(dir, "trials", "0002")); err != nil {
		t.Fatal(err)
	}
	x := open(t, locate(t, "", root), root)
	refresh(t, x)
	if err := x.Remove(t.Context(), "one/"+filepath.Base(dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("what a link led to is gone: %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the result is left: %v", err)
	}
}

// A result being measured can be neither removed nor continued by another process.
func TestRemoveRefusesWhatIsBeingWritten(t *testing.T) {
	root := t.TempDir()
	w, err := result.Create(root, "a", started)
	if err != nil {
		t.Fatal(err)
	}
	addTrial(t, w, 1, map[string]any{"links.*.kind": "veth"}, "")
	x := open(t, Location{File: filepath.Join(root, DefaultFile)}, root)
	refresh(t, x)
	folder := list(t, x, Filter{})[0]
	inUse := new(result.InUseError)
	if _, err := x.Removable(folder); !errors.As(err, &inUse) || inUse.Dir != folder {
		t.Errorf("removable: %v", err)
	}
	if err := x.Remove(t.Context(), folder); !errors.As(err, &inUse) {
		t.Errorf("remove: %v", err)
	}
	addTrial(t, w, 2, map[string]any{"links.*.kind": "veth"}, "")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := x.Remove(t.Context(), folder); err != nil {
		t.Errorf("once it is whole: %v", err)
	}
	if _, err := os.Stat(w.Dir()); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
}
