package folder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/test/labtest"
)

func newPlace(t *testing.T) Place {
	t.Helper()
	return Place{
		Root: t.TempDir(), Below: "sessions/web", Owner: "sessions/web", What: "a session",
		Elsewhere: "name it otherwise", Again: "stop it", Lock: "lock", Written: []string{"record", "logs"},
	}
}

func write(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAFolderIsUndone: what the journal has goes first, then what was written, and the folder.
func TestAFolderIsUndone(t *testing.T) {
	labtest.Guarantee(t)
	p, made := newPlace(t), filepath.Join(t.TempDir(), "made")
	held, err := Begin(p)
	if err != nil {
		t.Fatal(err)
	}
	step := journal.Step{Kind: journal.KindDirectory, Path: made}
	if err := held.Journal.Make(step, func() (journal.Learnt, error) { return journal.Learnt{}, os.Mkdir(made, 0o700) }); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(held.Journal.Header.Token, "nines-sessions-") {
		t.Errorf("its processes would be named %q", held.Journal.Header.Token)
	}
	write(t, filepath.Join(p.Path(), "record"), filepath.Join(p.Path(), "logs", "a"), filepath.Join(p.Path(), "lock"))
	if err := held.Close(); err != nil { // as if it was killed
		t.Fatal(err)
	}
	if _, err := Begin(p); err == nil {
		t.Error("it began twice")
	}
	held, err = Take(p)
	if err != nil || !held.SinceBoot() {
		t.Fatalf("of this boot: %v, %v", held, err)
	}
	if err := held.Undo(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{made, p.Path()} {
		if labtest.There(t, path) {
			t.Errorf("%s is still there", path)
		}
	}
	if _, err := Take(p); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("taken again: %v", err)
	}
}

// TestAStartThatWasKilledEarlyIsRemoved: before the journal, and before its first line.
func TestAStartThatWasKilledEarlyIsRemoved(t *testing.T) {
	labtest.Guarantee(t)
	for _, left := range [][]string{nil, {"lock"}, {"lock", JournalName}} {
		p := newPlace(t)
		if err := os.MkdirAll(p.Path(), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range left {
			write(t, filepath.Join(p.Path(), name))
		}
		held, err := Take(p)
		if err != nil || held.Journal != nil || held.SinceBoot() {
			t.Fatalf("%v: %+v, %v", left, held, err)
		}
		if err := held.Undo(context.Background(), nil); err != nil || labtest.There(t, p.Path()) {
			t.Errorf("%v: not removed: %v", left, err)
		}
	}
}

// TestOnlyWhatIsCertainlyLeftIsTaken: a start that was killed is undone, but nothing whole, and nothing of
// which nobody can tell.
func TestOnlyWhatIsCertainlyLeftIsTaken(t *testing.T) {
	whole, unreadable := errors.New("it runs"), errors.New("too many open files")
	for _, c := range []struct {
		begun, earlier bool
		refusal, err   error
		want           error
		taken          bool
	}{
		{},
		{begun: true, taken: true},
		{begun: true, err: fs.ErrNotExist, taken: true},
		{begun: true, refusal: whole, want: whole},
		{begun: true, err: unreadable, want: unreadable},
		{begun: true, earlier: true, refusal: whole, taken: true},
		{begun: true, earlier: true, err: unreadable, taken: true},
	} {
		p := newPlace(t)
		if c.begun {
			begin(t, p, c.earlier)
		}
		held, err := TakeLeft(p, func() (error, error) { return c.refusal, c.err })
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || (held != nil) != c.taken {
			t.Errorf("%+v: %v, %v", c, held, err)
		}
		if errors.Is(c.err, unreadable) && err != nil && !strings.Contains(err.Error(), p.Again) {
			t.Errorf("it does not say what to do: %v", err)
		}
		if held != nil {
			if err := held.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// begin makes a folder with a journal, perhaps of an earlier boot.
func begin(t *testing.T, p Place, earlier bool) {
	t.Helper()
	if err := os.MkdirAll(p.Path(), 0o700); err != nil {
		t.Fatal(err)
	}
	header := journal.Header{Lab: p.Owner}
	if earlier {
		header.BootID = "earlier"
	}
	j, err := journal.Create(p.Journal(), header)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsNotOursIsRefused names the folder and what to do, and nothing in it is touched.
func TestWhatIsNotOursIsRefused(t *testing.T) {
	for what, put := range map[string]func(Place) error{
		"a file":      func(p Place) error { return os.WriteFile(p.Path(), nil, 0o600) },
		"no journal":  func(p Place) error { return os.Mkdir(p.Path(), 0o700) },
		"open to all": func(p Place) error { return errors.Join(os.Mkdir(p.Path(), 0o700), os.Chmod(p.Path(), 0o777)) },
		"a link":      func(p Place) error { return os.Symlink(t.TempDir(), p.Path()) },
		"other's":     func(p Place) error { p.Owner = "sessions/other"; return begun(p) },
		"linked": func(p Place) error {
			return errors.Join(os.Mkdir(p.Path(), 0o700), os.Symlink("/dev/null", p.Journal()))
		},
		"behind a link": behindALink,
	} {
		p := newPlace(t)
		parent := filepath.Dir(p.Path())
		if err := errors.Join(os.Mkdir(parent, 0o700), put(p)); err != nil {
			t.Fatal(err)
		}
		theirs := filepath.Join(p.Path(), "record") // nines has a file of this name, too
		if what != "a file" {
			write(t, theirs)
		} else {
			theirs = p.Path()
		}
		for verb, call := range map[string]func() error{
			"Check": func() error { return Check(p) },
			"Take":  func() error { _, err := Take(p); return err },
		} {
			err := call()
			if !errors.As(err, new(*ForeignError)) || exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), p.Path()) || !strings.Contains(err.Error(), p.Elsewhere) {
				t.Errorf("%s, %s: %v", verb, what, err)
			}
		}
		if !labtest.There(t, theirs) {
			t.Errorf("%s: %s is gone", what, theirs)
		}
	}
}

func begun(p Place) error {
	held, err := Begin(p)
	if err != nil {
		return err
	}
	return held.Close()
}

func behindALink(p Place) error {
	parent := filepath.Dir(p.Path())
	return errors.Join(begun(p), os.Rename(parent, parent+".real"), os.Symlink(parent+".real", parent))
}

// TestForeignFilesStay: the folder stays with them, and is nobody's then.
func TestForeignFilesStay(t *testing.T) {
	p := newPlace(t)
	if err := begun(p); err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(p.Path(), "notes.txt")
	write(t, theirs, filepath.Join(p.Path(), "record"))
	held, err := Take(p)
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	if err := held.Undo(context.Background(), func(note string) { notes = append(notes, note) }); err != nil {
		t.Fatal(err)
	}
	if want := []string{theirs + " was not made by nines; left as it is"}; !slices.Equal(notes, want) {
		t.Errorf("said %q, not %q", notes, want)
	}
	if left, err := os.ReadDir(p.Path()); err != nil || len(left) != 1 {
		t.Errorf("in the folder: %v, %v", left, err)
	}
	if err := Check(p); !errors.As(err, new(*ForeignError)) {
		t.Errorf("what is left counts as ours: %v", err)
	}
}
