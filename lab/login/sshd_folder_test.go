package login

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/journal"
)

// folderPlace is a folder of a test's own that stands for the host's.
type folderPlace struct {
	t            *testing.T
	path, ledger string
}

func newFolderPlace(t *testing.T) folderPlace {
	dir := t.TempDir()
	return folderPlace{t, filepath.Join(dir, "sshd"), filepath.Join(dir, "nines", "sshd.json")}
}

func (p folderPlace) step(lab string) journal.Step {
	return journal.Step{Kind: KindSSHDFolder, Path: p.path, Target: p.ledger, Name: lab}
}

func (p folderPlace) use(lab string) {
	p.t.Helper()
	if err := useSSHDFolder(p.step(lab)); err != nil {
		p.t.Fatal(err)
	}
	if info, err := os.Lstat(p.path); err != nil || !info.IsDir() {
		p.t.Fatalf("after %s came: %v", lab, err)
	}
}

// leave is told what is left; an SSH server of the machine that runs the test may use the folder.
func (p folderPlace) leave(lab string) (left string) {
	p.t.Helper()
	err := leaveSSHDFolder(context.Background(), journal.Undoing{Entry: journal.Entry{Step: p.step(lab)}, Note: func(note string) { left = note }})
	if err != nil {
		p.t.Fatal(err)
	}
	return left
}

func (p folderPlace) there() bool {
	_, err := os.Lstat(p.path)
	return err == nil
}

func TestTheLastLabRemovesTheFolderOfSSHServers(t *testing.T) {
	p := newFolderPlace(t)
	p.use("one")
	p.use("two")
	p.leave("one")
	if !p.there() {
		t.Fatal("the first took the folder of the second")
	}
	p.leave("one") // a second time, as after a kill
	if !p.there() {
		t.Fatal("the first left twice, and took the folder of the second")
	}
	left := p.leave("two")
	if p.there() && !strings.Contains(left, "an SSH server of the host runs") {
		t.Errorf("the folder is left, with the note %q", left)
	}
	for _, file := range []string{p.ledger, p.ledger + ".lock"} {
		if _, err := os.Lstat(file); err == nil {
			t.Errorf("%s is left", file)
		}
	}
}

func TestAFolderThatWasThereStays(t *testing.T) {
	p := newFolderPlace(t)
	if err := os.Mkdir(p.path, 0o711); err != nil {
		t.Fatal(err)
	}
	p.use("one")
	p.leave("one")
	if !p.there() {
		t.Error("the host's folder is gone")
	}
}

// TestAFolderOfAnotherStays: someone has put another in the place of the one that nines made.
func TestAFolderOfAnotherStays(t *testing.T) {
	p := newFolderPlace(t)
	p.use("one")
	// Both are there at once, so that they have two inodes.
	if err := os.Mkdir(p.path+".new", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(p.path); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(p.path+".new", p.path); err != nil {
		t.Fatal(err)
	}
	p.use("two")
	p.leave("one")
	p.leave("two")
	if !p.there() {
		t.Error("the other's folder is gone")
	}
}

// TestAFolderThatWasNeverMade: nines was killed between the journal's step and the folder.
func TestAFolderThatWasNeverMade(t *testing.T) {
	p := newFolderPlace(t)
	p.leave("one")
	if p.there() {
		t.Error("leaving has made the folder")
	}
	// Another lab has it meanwhile.
	p.use("two")
	p.leave("one")
	if !p.there() {
		t.Error("a lab that never had the folder took it from another")
	}
	// A link in its place is not followed.
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Mkdir(elsewhere, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(p.path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, p.path); err != nil {
		t.Fatal(err)
	}
	p.leave("two")
	if _, err := os.Lstat(elsewhere); err != nil {
		t.Errorf("what the link led to: %v", err)
	}
	if !p.there() {
		t.Error("the link of another is gone")
	}
}
