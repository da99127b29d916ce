package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/folder"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// foreignLabs makes what others may have put where labs are, in a state folder of the test's own,
// and returns the file in each that must stay.
func foreignLabs(t *testing.T) map[string]string {
	t.Helper()
	root := t.TempDir()
	t.Setenv("NINES_STATE_DIR", root)
	labs, outside := filepath.Join(root, "labs"), filepath.Join(t.TempDir(), "theirs")
	data := map[string]string{}
	// put makes a folder with a file in it.
	put := func(name, dir string, mode os.FileMode) {
		t.Helper()
		data[name] = filepath.Join(dir, "plan.json") // nines has a file of this name, too
		for _, err := range []error{
			os.MkdirAll(dir, 0o755), os.WriteFile(data[name], []byte("{}"), 0o600), os.Chmod(dir, mode),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	begin := func(dir, lab string) {
		t.Helper()
		j, err := journal.Create(filepath.Join(dir, "journal.jsonl"), journal.Header{Lab: lab})
		if err == nil {
			err = j.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("has no journal", filepath.Join(labs, "thesis"), 0o755)
	put("is a link", outside, 0o755)
	begin(outside, "link")
	put("has the journal of another lab", filepath.Join(labs, "copy"), 0o755)
	begin(filepath.Join(labs, "copy"), "original")
	put("is open to others", filepath.Join(labs, "open"), 0o777)
	begin(filepath.Join(labs, "open"), "open")
	put("has a link as its journal", filepath.Join(labs, "linked"), 0o755)
	data["is a file"] = filepath.Join(labs, "file")
	for _, err := range []error{
		os.Symlink(outside, filepath.Join(labs, "link")),
		os.Symlink(filepath.Join(outside, "journal.jsonl"), filepath.Join(labs, "linked", "journal.jsonl")),
		os.WriteFile(data["is a file"], nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return data
}

var foreignNames = []string{"thesis", "link", "copy", "open", "linked", "file"}

// TestWhatNinesDidNotMakeIsNoLab: down, up and what reads labs refuse it, say where it is and what
// to do, and touch nothing.
func TestWhatNinesDidNotMakeIsNoLab(t *testing.T) {
	data := foreignLabs(t)
	ctx := context.Background()
	for _, name := range foreignNames {
		for verb, call := range map[string]func() error{
			"Down":    func() error { _, err := Down(ctx, name); return err },
			"Undoing": func() error { _, err := WouldUndo(t.Context(), name); return err },
			"Open":    func() error { _, err := Open(name); return err },
			"reserved": func() error {
				_, err := reserve(ctx, UpOptions{Plan: labs.Plan(t, labs.Pair(name, "")), Progress: func(string) {}})
				return err
			},
		} {
			err := call()
			if !errors.As(err, new(*folder.ForeignError)) || exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), filepath.Join(state.Root(), "labs", name)) {
				t.Errorf("%s %s: %v", verb, name, err)
			}
		}
	}
	if labs, err := List(); err != nil || len(labs) > 0 {
		t.Errorf("listed: %v, %v", labs, err)
	}
	if err := DownAll(func(name string) error { _, err := Down(ctx, name); return err }); err != nil {
		t.Error(err)
	}
	for what, path := range data {
		if !labtest.There(t, path) {
			t.Errorf("what %s lost %s", what, path)
		}
	}
	if !labtest.There(t, filepath.Join(state.Root(), "labs", "link")) {
		t.Error("the link is gone")
	}
}

// TestDownLeavesForeignFilesInALab: a lab goes, and what others have put into its folder stays,
// with a note.
func TestDownLeavesForeignFilesInALab(t *testing.T) {
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	s := state.Of("tbguest")
	theirs := []string{filepath.Join(s.Dir, "notes.txt"), filepath.Join(s.Dir, "data")}
	outside := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(s.Dir, "logs"), 0o700),
		os.WriteFile(theirs[0], nil, 0o600),
		os.Mkdir(theirs[1], 0o700),
		os.WriteFile(filepath.Join(outside, "file"), nil, 0o600),
		os.Symlink(outside, filepath.Join(s.Dir, "logs", "link")),
		os.Symlink(outside, s.Engines()), // in place of a folder of ours
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	j, err := journal.Create(s.Journal(), journal.Header{Lab: "tbguest"})
	if err == nil {
		err = j.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	notes, err := Down(context.Background(), "tbguest")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(theirs, filepath.Join(outside, "file")) {
		if !labtest.There(t, path) {
			t.Errorf("%s is gone", path)
		}
	}
	for _, path := range theirs {
		if !slices.ContainsFunc(notes, func(note string) bool { return strings.HasPrefix(note, path+" ") }) {
			t.Errorf("no note on %s: %q", path, notes)
		}
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil || len(entries) != len(theirs) {
		t.Errorf("in the folder: %v, %v", entries, err)
	}
	if _, err := Down(context.Background(), "tbguest"); !errors.As(err, new(*folder.ForeignError)) {
		t.Errorf("what is left counts as a lab: %v", err)
	}
}

// TestADamagedJournalIsNotChangedButUndone: who changes the lab is told the line, and down names it, undoes the other
// steps, and exits with 1.
func TestADamagedJournalIsNotChangedButUndone(t *testing.T) {
	labtest.UsualNice(t)
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	s := state.Of("tbdamaged")
	dir := filepath.Join(t.TempDir(), "made")
	if err := errors.Join(os.MkdirAll(s.Dir, 0o700), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Create(s.Journal(), journal.Header{Lab: "tbdamaged"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Begin(journal.Step{Kind: journal.KindDirectory, Path: dir}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(s.Journal())
	if err != nil {
		t.Fatal(err)
	}
	header, step, _ := strings.Cut(string(whole), "\n")
	if err := os.WriteFile(s.Journal(), []byte(header+"\nrubbish\n"+step), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = hold("tbdamaged")
	if !errors.As(err, new(*journal.DamagedError)) || !strings.Contains(err.Error(), s.Journal()+": line 2 is damaged") || !strings.Contains(err.Error(), "nines down") {
		t.Fatalf("got %v", err)
	}
	if u, err := WouldUndo(t.Context(), "tbdamaged"); err != nil || len(u.Steps) != 1 || u.Wrong == nil {
		t.Errorf("it would undo %+v, %v", u, err)
	}
	_, err = Down(context.Background(), "tbdamaged")
	if !errors.As(err, new(*journal.WrongError)) || !strings.Contains(err.Error(), "line 2 is damaged") || exit.Code(err) != exit.Failed {
		t.Errorf("down says %v", err)
	}
	if labtest.There(t, dir) || labtest.There(t, s.Dir) {
		t.Errorf("left %v %v", labtest.There(t, dir), labtest.There(t, s.Dir))
	}
}

// TestDownAllGoesOn: a lab that another process holds does not keep the others up.
func TestDownAllGoesOn(t *testing.T) {
	labtest.UsualNice(t)
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	for _, name := range []string{"tba", "tbb", "tbc"} {
		s := state.Of(name)
		if err := os.MkdirAll(s.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		j, err := journal.Create(s.Journal(), journal.Header{Lab: name})
		if err == nil {
			err = j.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	held, err := hold("tbb")
	if err != nil {
		t.Fatal(err)
	}
	down := func(name string) error { _, err := Down(context.Background(), name); return err }
	var busy *state.BusyError
	if err := DownAll(down); !errors.As(err, &busy) || busy.Name != "tbb" {
		t.Errorf("the error is not of the lab that is held: %v", err)
	}
	if labs, err := List(); err != nil || len(labs) != 1 || labs[0].Name != "tbb" {
		t.Errorf("left: %v, %v", labs, err)
	}
	if err := errors.Join(held.free(), DownAll(down)); err != nil {
		t.Error(err)
	}
}
