package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

// fake records which steps of these kinds are undone, and does nothing else.
type fake struct {
	ended, removed []int
	starters       map[int]bool // devices whose starter was still there
	fail           map[int]bool
}

// world is the fake by which the test's kinds are undone.
var world *fake

var (
	kindProcess   = Register("test process", Undo{Ender: ender{}})
	kindContainer = Register("test container", Undo{Ender: ender{}})
	kindLink      = Register("test link", Undo{Step: remove})
	kindFile      = Register("test file", Undo{Step: remove, Lasting: true})
)

var errBroken = errors.New("broken")

type ender struct{}

func (ender) End(_ context.Context, entries []Entry, _ func(string)) error {
	for _, e := range entries {
		if world.fail[e.ID] {
			return errBroken
		}
		world.ended = append(world.ended, e.ID)
	}
	return nil
}

func remove(_ context.Context, u Undoing) error {
	if world.fail[u.ID] {
		return errBroken
	}
	world.removed = append(world.removed, u.ID)
	if world.starters == nil {
		world.starters = map[int]bool{}
	}
	world.starters[u.ID] = u.Starter != nil
	return nil
}

// undo undoes a journal in a new world, in which some steps fail.
func undo(t *testing.T, j *Journal, which func(Entry) bool, fail ...int) (*fake, error) {
	t.Helper()
	world = &fake{fail: map[int]bool{}}
	for _, id := range fail {
		world.fail[id] = true
	}
	return world, j.Undo(context.Background(), nil, which)
}

func start(t *testing.T) (*Journal, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal")
	j, err := Create(path, Header{Lab: "l", Prefix: "p", Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j, path
}

func begin(t *testing.T, j *Journal, s Step) int {
	t.Helper()
	id, err := j.Begin(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func reopen(t *testing.T, path string) *Journal {
	t.Helper()
	j, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func TestUndoEndsProcessesFirstAndTheRestBackwards(t *testing.T) {
	labtest.Guarantee(t)
	j, _ := start(t)
	begin(t, j, Step{Kind: kindFile, Path: "/d"})           // 1
	begin(t, j, Step{Kind: kindProcess, Node: "n"})         // 2
	begin(t, j, Step{Kind: kindLink, Name: "x"})            // 3
	begin(t, j, Step{Kind: kindContainer, Node: "c"})       // 4
	begin(t, j, Step{Kind: kindFile, Path: "/s"})           // 5
	begin(t, j, Step{Kind: kindLink, Name: "y", Holder: 2}) // 6
	world, err := undo(t, j, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(world.ended, []int{2, 4}) || !slices.Equal(world.removed, []int{6, 5, 3, 1}) {
		t.Errorf("ended %v, removed %v", world.ended, world.removed)
	}
	if world.starters[6] {
		t.Error("a link in the namespace of a process that was ended was not taken as gone")
	}
	if left := j.Entries(); len(left) != 0 {
		t.Errorf("still in the journal: %v", left)
	}
}

func TestWhatCannotBeUndoneStaysAndIsTriedAgain(t *testing.T) {
	labtest.Guarantee(t)
	j, path := start(t)
	begin(t, j, Step{Kind: kindFile, Path: "/1"})
	begin(t, j, Step{Kind: kindFile, Path: "/2"})
	begin(t, j, Step{Kind: kindFile, Path: "/3"})
	if _, err := undo(t, j, nil, 2); !errors.Is(err, errBroken) {
		t.Fatalf("got %v", err)
	}
	world, err := undo(t, reopen(t, path), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(world.removed, []int{2}) {
		t.Errorf("the second time it removed %v, not what was left", world.removed)
	}
}

func TestUndoOfAPartLeavesTheRest(t *testing.T) {
	labtest.Guarantee(t)
	j, path := start(t)
	begin(t, j, Step{Kind: kindProcess, Node: "stays"})
	begin(t, j, Step{Kind: kindProcess, Node: "goes"})
	begin(t, j, Step{Kind: kindLink, Name: "x", Holder: 1, Node: "goes"})
	world, err := undo(t, j, func(e Entry) bool { return e.Node == "goes" })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(world.ended, []int{2}) || !slices.Equal(world.removed, []int{3}) || !world.starters[3] {
		t.Errorf("ended %v, removed %v, with their starters %v", world.ended, world.removed, world.starters)
	}
	if left := reopen(t, path).Entries(); len(left) != 1 || left[0].ID != 1 {
		t.Errorf("left: %v", left)
	}
}

// TestEveryPrefixOfAJournalCanBeReadAndContinued cuts a journal off at every byte, as
// a crash or a full disk would, and continues it.
func TestEveryPrefixOfAJournalCanBeReadAndContinued(t *testing.T) {
	labtest.Guarantee(t)
	j, path := start(t)
	id := begin(t, j, Step{Kind: kindProcess, Node: "n", Token: "t:n"})
	if err := j.Done(id, Learnt{PID: 7, StartTicks: 8, NetInode: 9}); err != nil {
		t.Fatal(err)
	}
	begin(t, j, Step{Kind: kindFile, Path: "/f"})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	header := strings.IndexByte(string(whole), '\n') + 1
	for cut := range len(whole) + 1 {
		torn := filepath.Join(t.TempDir(), "torn")
		if err := os.WriteFile(torn, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := Open(torn)
		if cut < header {
			if !errors.Is(err, ErrEmpty) {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		wantEntries := strings.Count(string(whole[:cut]), "\n") - 1
		if wantEntries == 3 {
			wantEntries = 2 // one line is a done line
		} else if wantEntries == 2 {
			wantEntries = 1
		}
		if got := len(again.Entries()); got != wantEntries {
			t.Errorf("cut at %d: %d entries, not %d", cut, got, wantEntries)
		}
		if _, err := again.Begin(Step{Kind: kindFile, Path: "/more"}); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		more, err := Read(torn)
		if err != nil {
			t.Fatalf("cut at %d, then continued: %v", cut, err)
		}
		if got := len(more.Entries()); got != wantEntries+1 {
			t.Errorf("cut at %d, then continued: %d entries, not %d", cut, got, wantEntries+1)
		}
	}
}

func TestAfterARebootOnlyFilesAreUndone(t *testing.T) {
	j, _ := start(t)
	j.Header.BootID = "another"
	begin(t, j, Step{Kind: kindProcess})
	begin(t, j, Step{Kind: kindLink})
	begin(t, j, Step{Kind: kindFile})
	world, err := undo(t, j, nil)
	if err != nil || len(world.ended) > 0 || !slices.Equal(world.removed, []int{3}) || len(j.Entries()) > 0 {
		t.Errorf("%v, ended %v, removed %v, left %v", err, world.ended, world.removed, j.Entries())
	}
}

// TestAnUnknownKindStaysInTheJournal: a step of a newer nines stays, the error names it,
// and all else is undone.
func TestAnUnknownKindStaysInTheJournal(t *testing.T) {
	j, path := start(t)
	begin(t, j, Step{Kind: kindFile})
	if err := j.appendLine(line{Intent: 2, Step: &Step{Kind: "tunnel", Name: "t0"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Begin(Step{Kind: "tunnel"}); err == nil {
		t.Error("a step was begun that nobody can undo")
	}
	j = reopen(t, path)
	begin(t, j, Step{Kind: kindProcess})
	world, err := undo(t, j, nil)
	var unknown *UnknownKindError
	if !errors.As(err, &unknown) || unknown.Kind != "tunnel" || !strings.Contains(err.Error(), "undo tunnel t0: ") {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(world.ended, []int{3}) || !slices.Equal(world.removed, []int{1}) {
		t.Errorf("ended %v, removed %v", world.ended, world.removed)
	}
	if left := reopen(t, path).Entries(); len(left) != 1 || left[0].Kind != "tunnel" {
		t.Errorf("left: %v", left)
	}
}

func TestWhatSomebodyElseMadeIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	link, used, theirs := filepath.Join(dir, "link"), filepath.Join(dir, "used"), filepath.Join(dir, "theirs")
	for _, err := range []error{
		os.Symlink("/theirs", link), os.Mkdir(used, 0o700), os.WriteFile(filepath.Join(used, "theirs"), nil, 0o600), os.Mkdir(theirs, 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	inode := func(path string) uint64 {
		inode, err := Inode(path)
		if err != nil {
			t.Fatal(err)
		}
		return inode
	}
	j, _ := start(t)
	for _, made := range []struct {
		Step
		inode uint64
	}{
		{Step{Kind: KindDirectory, Path: theirs}, inode(theirs) + 1},
		{Step{Kind: KindSymlink, Path: link, Target: "/ours"}, inode(link)},
		{Step{Kind: KindDirectory, Path: used}, inode(used)},
		{Step{Kind: KindDirectory, Path: filepath.Join(dir, "absent")}, 0},
		{Step{Kind: KindSymlink, Path: filepath.Join(dir, "absent")}, 0},
		{Step{Kind: KindTree, Path: filepath.Join(dir, "absent")}, 0},
	} {
		if err := j.Done(begin(t, j, made.Step), Learnt{Inode: made.inode}); err != nil {
			t.Fatal(err)
		}
	}
	var notes []string
	if err := j.Undo(context.Background(), func(text string) { notes = append(notes, text) }, nil); err != nil {
		t.Error(err)
	}
	for _, path := range []string{theirs, link, used} {
		if !labtest.There(t, path) {
			t.Errorf("%s is gone", path)
		}
	}
	if len(notes) != 2 {
		t.Errorf("notes: %q", notes)
	}
}

// TestWhatCannotBeLookedAtIsNotAbsent: it would be made, and removed as ours.
func TestWhatCannotBeLookedAtIsNotAbsent(t *testing.T) {
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	if inode, err := Inode(filepath.Join(loop, "theirs")); inode != 0 || !errors.Is(err, unix.ELOOP) {
		t.Errorf("%d, %v", inode, err)
	}
	j, _ := start(t)
	if err := j.MakeFolder(Step{Kind: KindTree, Path: filepath.Join(loop, "theirs")}, 0o755); !errors.Is(err, unix.ELOOP) || len(j.Entries()) > 0 {
		t.Errorf("%v, journalled %v", err, j.Entries())
	}
}

// TestAFolderThatWasThereStays: a step that did not make it does not undo it.
func TestAFolderThatWasThereStays(t *testing.T) {
	j, _ := start(t)
	dir := t.TempDir()
	theirs, ours := Step{Kind: KindTree, Path: filepath.Join(dir, "theirs")}, Step{Kind: KindTree, Path: filepath.Join(dir, "ours")}
	if err := os.MkdirAll(filepath.Join(theirs.Path, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := j.MakeFolder(theirs, 0o755); !errors.Is(err, os.ErrExist) {
		t.Errorf("made anew: %v", err)
	}
	if err := j.MakeFolder(ours, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(ours.Path, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := j.Undo(context.Background(), nil, nil); err != nil {
		t.Error(err)
	}
	if theirs, ours := labtest.There(t, filepath.Join(theirs.Path, "data")), labtest.There(t, ours.Path); !theirs || ours {
		t.Errorf("theirs is left: %v, ours: %v", theirs, ours)
	}
}

// TestWhatUnendedProcessesMayUseIsNotForgotten: a folder that is in use is others' only once our own processes
// have ended.
func TestWhatUnendedProcessesMayUseIsNotForgotten(t *testing.T) {
	j, err := Create(filepath.Join(t.TempDir(), "journal"), Header{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	used := filepath.Join(t.TempDir(), "used")
	if err := j.MakeFolder(Step{Kind: KindDirectory, Path: used}, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(used, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	process, err := j.Begin(Step{Kind: kindProcess})
	if err != nil {
		t.Fatal(err)
	}
	world = &fake{fail: map[int]bool{process: true}}
	if err := j.Undo(t.Context(), nil, nil); !errors.Is(err, errBroken) || !errors.Is(err, unix.ENOTEMPTY) || len(j.Entries()) != 2 {
		t.Errorf("undone with %v, left %v", err, j.Entries())
	}
	world = &fake{}
	if err := j.Undo(t.Context(), nil, nil); err != nil || len(j.Entries()) > 0 || !labtest.There(t, used) {
		t.Errorf("later undone with %v, left %v", err, j.Entries())
	}
}
