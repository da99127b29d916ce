package tune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/folder"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/test/labtest"
)

// newSession is a session on files that stand for settings.
func newSession(t *testing.T) (Session, Plan, map[string]string) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"a": "60\n", "b": "always [madvise] never\n", "c": "00000003\n"}
	before := map[string]string{}
	var rows []Row
	for _, name := range []string{"a", "b", "c"} {
		path := filepath.Join(dir, "host", name)
		write(t, path, files[name])
		before[path] = files[name]
		rows = append(rows, Row{Setting: Setting{Advice: Advice{Name: name}, Method: Write, Path: path, Value: "7"}})
	}
	return Session{Root: filepath.Join(dir, "state")}, Plan{Profile: "test", Source: "test", Settings: rows}, before
}

func TestASessionPutsEverythingBack(t *testing.T) {
	labtest.Guarantee(t)
	s, plan, before := newSession(t)
	// A kernel file lists its choices again after a write; this one cannot.
	plan.Settings = []Row{plan.Settings[0], plan.Settings[2]}
	applied, err := s.Apply(context.Background(), plan, "tester")
	if err != nil || !applied.Done {
		t.Fatalf("%+v, %v", applied, err)
	}
	status, err := s.Status()
	if err != nil || status.Applied == nil || status.CutOff || len(status.Settings) != 2 {
		t.Fatalf("%+v, %v", status, err)
	}
	for _, c := range status.Settings {
		if c.Standing != InForce {
			t.Errorf("%s is %s", c.Path, c.Standing)
		}
	}
	settings, err := s.Revert(context.Background(), func(note string) { t.Errorf("note: %s", note) })
	if err != nil || settings != 2 {
		t.Fatalf("%d settings, %v", settings, err)
	}
	for path, text := range before {
		if read(t, path) != text {
			t.Errorf("%s is %q, was %q", path, read(t, path), text)
		}
	}
	left, err := os.ReadDir(s.Root)
	if err != nil || len(left) != 1 || left[0].Name() != "tune.lock" {
		t.Errorf("left in the state folder: %v, %v", left, err)
	}
	if _, err := s.Revert(context.Background(), nil); !errors.Is(err, ErrNothing) {
		t.Errorf("a second revert: %v", err)
	}
}

// A kill leaves a temporary file, or a journal without its first line.
func TestRevertLeavesNothingOfAKilledApply(t *testing.T) {
	labtest.Guarantee(t)
	for name, kill := range map[string]func(Session, Plan) (left, text string){
		"writing who tunes": func(s Session, p Plan) (string, string) {
			if _, err := s.Apply(context.Background(), p, "tester"); err != nil {
				t.Fatal(err)
			}
			return appliedPath(s.dir()) + ".new", "{"
		},
		"before the journal's first line": func(s Session, _ Plan) (string, string) { return s.journal(), "" },
	} {
		s, plan, _ := newSession(t)
		left, text := kill(s, plan)
		write(t, left, text)
		if _, err := s.Revert(context.Background(), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(s.dir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the session's folder: %v", name, err)
		}
	}
}

func TestASecondApplySaysWhoHoldsTheHost(t *testing.T) {
	s, plan, _ := newSession(t)
	if _, err := s.Apply(context.Background(), plan, "alice"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Apply(context.Background(), plan, "bob")
	if err == nil || !strings.Contains(err.Error(), "alice") || !strings.Contains(err.Error(), "nines tune revert") {
		t.Errorf("the error: %v", err)
	}
	if _, err := s.Revert(context.Background(), nil); err != nil {
		t.Error(err)
	}
}

// What is in force is not taken for what a killed apply left, only as its record cannot be read.
func TestASessionThatCannotBeReadStays(t *testing.T) {
	s, plan, _ := newSession(t)
	if _, err := s.Apply(context.Background(), plan, "alice"); err != nil {
		t.Fatal(err)
	}
	path := appliedPath(s.dir())
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(context.Background(), plan, "bob"); err == nil || !strings.Contains(err.Error(), "nines tune revert") {
		t.Errorf("the error: %v", err)
	}
	for _, row := range plan.Settings {
		if text := read(t, row.Path); text != row.Value+"\n" {
			t.Errorf("%s is %q", row.Path, text)
		}
	}
	if _, err := s.Revert(context.Background(), nil); err != nil {
		t.Error(err)
	}
}

func TestRevertNeedsNoRoomOnADisk(t *testing.T) {
	labtest.Guarantee(t)
	s, plan, before := newSession(t)
	disk, fill := labtest.FullDisk(t, 64)
	s.Root = filepath.Join(disk, "state")
	plan.Settings = []Row{plan.Settings[0], plan.Settings[2]} // see TestASessionPutsEverythingBack
	if _, err := s.Apply(context.Background(), plan, "tester"); err != nil {
		t.Fatal(err)
	}
	fill()
	if _, err := s.Revert(context.Background(), func(note string) { t.Errorf("note: %s", note) }); err != nil {
		t.Error(err)
	}
	for path, text := range before {
		if read(t, path) != text {
			t.Errorf("%s is %q, was %q", path, read(t, path), text)
		}
	}
}

func TestALabAndASessionExcludeEachOther(t *testing.T) {
	s, plan, before := newSession(t)
	dir := filepath.Join(s.Root, "labs", "mine")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lab, err := journal.Create(filepath.Join(dir, folder.JournalName), journal.Header{Lab: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	defer lab.Close()
	if err := Claim(lab, s.Root, "labs/mine"); err != nil {
		t.Fatal(err)
	}
	if err := Claim(lab, s.Root, "labs/mine"); err != nil {
		t.Errorf("claimed twice by one: %v", err)
	}
	if _, err := s.Apply(context.Background(), plan, "bob"); err == nil || !strings.Contains(err.Error(), `lab "mine"`) {
		t.Errorf("the error: %v", err)
	}
	for path, text := range before {
		if read(t, path) != text {
			t.Errorf("%s was changed", path)
		}
	}
	if status, err := s.Status(); err != nil || status.Lab != "mine" {
		t.Errorf("%+v, %v", status, err)
	}
	undo(t, lab)
	if _, err := s.Apply(context.Background(), plan, "bob"); err != nil {
		t.Fatal(err)
	}
	if err := Claim(lab, s.Root, "labs/mine"); err == nil || !strings.Contains(err.Error(), "by bob") {
		t.Errorf("the error: %v", err)
	}
	if _, err := s.Revert(context.Background(), nil); err != nil {
		t.Error(err)
	}
}

func TestAClaimWhoseHolderIsGoneIsTaken(t *testing.T) {
	s, plan, _ := newSession(t)
	if err := os.MkdirAll(s.Root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("labs/gone", filepath.Join(s.Root, claimName)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(context.Background(), plan, "bob"); err != nil {
		t.Error(err)
	}
}

func TestStatusTellsWhatOthersChanged(t *testing.T) {
	s, plan, _ := newSession(t)
	if _, err := s.Apply(context.Background(), plan, "tester"); err != nil {
		t.Fatal(err)
	}
	write(t, plan.Settings[0].Path, "9\n")
	write(t, plan.Settings[1].Path, "always [madvise] never\n")
	if err := os.Remove(plan.Settings[2].Path); err != nil {
		t.Fatal(err)
	}
	status, err := s.Status()
	if err != nil {
		t.Fatal(err)
	}
	want := []Standing{ChangedSince, Back, Lost}
	for i, c := range status.Settings {
		if c.Standing != want[i] {
			t.Errorf("%s is %q, want %q", c.Path, c.Standing, want[i])
		}
	}
	var notes []string
	if _, err := s.Revert(context.Background(), func(n string) { notes = append(notes, n) }); err != nil {
		t.Fatal(err)
	}
	if read(t, plan.Settings[0].Path) != "9\n" || len(notes) != 1 {
		t.Errorf("%q, notes %q", read(t, plan.Settings[0].Path), notes)
	}
}

func TestAnApplyThatIsCancelledPutsAllBack(t *testing.T) {
	labtest.Guarantee(t)
	s, plan, before := newSession(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Apply(ctx, plan, "tester"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for path, text := range before {
		if read(t, path) != text {
			t.Errorf("%s was changed", path)
		}
	}
	if status, err := s.Status(); err != nil || status.Applied != nil || status.CutOff {
		t.Errorf("%+v, %v", status, err)
	}
}

func TestOneAtATimeChangesTheHost(t *testing.T) {
	s, plan, _ := newSession(t)
	free, err := s.lock()
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	if _, err := s.Apply(context.Background(), plan, "bob"); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("process %d is changing", os.Getpid())) {
		t.Errorf("the error: %v", err)
	}
}

// TestOneOfTwoGetsWhatAHolderLeft: if two labs start at once and find the claim of a holder
// that is gone, only one of them tunes the host.
func TestOneOfTwoGetsWhatAHolderLeft(t *testing.T) {
	labtest.Guarantee(t)
	for range 200 {
		root := t.TempDir()
		if err := os.Symlink("labs/gone", ClaimPath(root)); err != nil {
			t.Fatal(err)
		}
		holders := []string{"labs/one", "labs/two"}
		errs := make([]error, len(holders))
		var group sync.WaitGroup
		for i, holder := range holders {
			dir := filepath.Join(root, holder)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			j, err := journal.Create(filepath.Join(dir, folder.JournalName), journal.Header{})
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			group.Go(func() { errs[i] = Claim(j, root, holder) })
		}
		group.Wait()
		winner, err := os.Readlink(ClaimPath(root))
		lost := func(err error) bool { return err != nil && strings.Contains(err.Error(), "holds this host's settings") }
		switch {
		case err != nil:
			t.Fatal(err)
		case winner == holders[0] && errs[0] == nil && lost(errs[1]):
		case winner == holders[1] && errs[1] == nil && lost(errs[0]):
		default:
			t.Fatalf("%s has it; %v, %v", winner, errs[0], errs[1])
		}
	}
}

// If a lab sets the same file on top, status and revert name the lab and revert leaves its
// value in force; when the lab ends, the file is as it was before both.
func TestALabOnTopIsToldAndKeepsItsValue(t *testing.T) {
	s, plan, before := newSession(t)
	s.Ledger = filepath.Join(t.TempDir(), "settings.json")
	plan.Settings = plan.Settings[:1]
	path := plan.Settings[0].Path
	if _, err := s.Apply(context.Background(), plan, "tester"); err != nil {
		t.Fatal(err)
	}
	lab, err := journal.Create(filepath.Join(t.TempDir(), folder.JournalName), journal.Header{Lab: "above", Prefix: "above", Token: "nines-above"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := setting.Make(lab, journal.Step{Path: path, Value: "9", Target: s.Ledger}); err != nil {
		t.Fatal(err)
	}
	status, err := s.Status()
	if err != nil || len(status.Settings) != 1 || status.Settings[0].Standing != Covered || status.Settings[0].By != `lab "above"` {
		t.Errorf("status: %+v, %v", status, err)
	}
	var notes []string
	if _, err := s.Revert(context.Background(), func(note string) { notes = append(notes, note) }); err != nil {
		t.Fatal(err)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], `lab "above"`) || read(t, path) != "9\n" {
		t.Errorf("after revert it is %q, notes %q", read(t, path), notes)
	}
	if err := lab.Undo(context.Background(), nil, nil); err != nil || read(t, path) != before[path] {
		t.Errorf("when the lab has gone it is %q, %v", read(t, path), err)
	}
	if err := lab.Close(); err != nil {
		t.Error(err)
	}
}
