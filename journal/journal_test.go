package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fake is a world that only remembers what was asked of it.
type fake struct {
	ended, removed []int
	holders        map[int]bool // links whose holder was still there
	fail           map[int]bool
}

var errBroken = errors.New("broken")

func (f *fake) End(_ context.Context, entries []Entry) error {
	for _, e := range entries {
		if f.fail[e.ID] {
			return errBroken
		}
		f.ended = append(f.ended, e.ID)
	}
	return nil
}

func (f *fake) Remove(_ context.Context, e Entry, holder *Entry) error {
	if f.fail[e.ID] {
		return errBroken
	}
	f.removed = append(f.removed, e.ID)
	if f.holders == nil {
		f.holders = map[int]bool{}
	}
	f.holders[e.ID] = holder != nil
	return nil
}

func start(t *testing.T) (*Journal, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal")
	j, err := Create(path, Header{Lab: "l", Prefix: "p", BootID: "b", Token: "t"})
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
	j, _ := start(t)
	begin(t, j, Step{Kind: KindDirectory, Path: "/d"})      // 1
	begin(t, j, Step{Kind: KindProcess, Node: "n"})         // 2
	begin(t, j, Step{Kind: KindLink, Name: "x"})            // 3
	begin(t, j, Step{Kind: KindContainer, Node: "c"})       // 4
	begin(t, j, Step{Kind: KindSymlink, Path: "/s"})        // 5
	begin(t, j, Step{Kind: KindSetting, Path: "/proc/x"})   // 6
	begin(t, j, Step{Kind: KindLink, Name: "y", Holder: 2}) // 7
	world := &fake{}
	if err := j.Undo(context.Background(), world, nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(world.ended, []int{2, 4}) || !slices.Equal(world.removed, []int{7, 6, 5, 3, 1}) {
		t.Errorf("ended %v, removed %v", world.ended, world.removed)
	}
	if world.holders[7] {
		t.Error("a link in the namespace of a process that was ended was not taken as gone")
	}
	if left := j.Entries(); len(left) != 0 {
		t.Errorf("still in the journal: %v", left)
	}
}

func TestWhatCannotBeUndoneStaysAndIsTriedAgain(t *testing.T) {
	j, path := start(t)
	begin(t, j, Step{Kind: KindFile, Path: "/1"})
	begin(t, j, Step{Kind: KindFile, Path: "/2"})
	begin(t, j, Step{Kind: KindFile, Path: "/3"})
	if err := j.Undo(context.Background(), &fake{fail: map[int]bool{2: true}}, nil); !errors.Is(err, errBroken) {
		t.Fatalf("got %v", err)
	}
	world := &fake{}
	if err := reopen(t, path).Undo(context.Background(), world, nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(world.removed, []int{2}) {
		t.Errorf("the second time it removed %v, not what was left", world.removed)
	}
}

func TestUndoOfAPartLeavesTheRest(t *testing.T) {
	j, path := start(t)
	begin(t, j, Step{Kind: KindProcess, Node: "stays"})
	begin(t, j, Step{Kind: KindProcess, Node: "goes"})
	begin(t, j, Step{Kind: KindLink, Name: "x", Holder: 1, Node: "goes"})
	world := &fake{}
	if err := j.Undo(context.Background(), world, func(e Entry) bool { return e.Node == "goes" }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(world.ended, []int{2}) || !slices.Equal(world.removed, []int{3}) || !world.holders[3] {
		t.Errorf("ended %v, removed %v, with their holders %v", world.ended, world.removed, world.holders)
	}
	if left := reopen(t, path).Entries(); len(left) != 1 || left[0].ID != 1 {
		t.Errorf("left: %v", left)
	}
}

// TestEveryPrefixOfAJournalCanBeReadAndContinued cuts a journal off at every byte, as
// a crash or a full disk would, and goes on with it.
func TestEveryPrefixOfAJournalCanBeReadAndContinued(t *testing.T) {
	j, path := start(t)
	id := begin(t, j, Step{Kind: KindProcess, Node: "n", Token: "t:n"})
	if err := j.Done(id, Learnt{PID: 7, StartTicks: 8, NetInode: 9}); err != nil {
		t.Fatal(err)
	}
	begin(t, j, Step{Kind: KindFile, Path: "/f"})
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
			wantEntries = 2 // one line is a done
		} else if wantEntries == 2 {
			wantEntries = 1
		}
		if got := len(again.Entries()); got != wantEntries {
			t.Errorf("cut at %d: %d entries, not %d", cut, got, wantEntries)
		}
		if _, err := again.Begin(Step{Kind: KindFile, Path: "/more"}); err != nil {
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

func TestHostLeavesAloneWhatSomebodyElseMade(t *testing.T) {
	dir := t.TempDir()
	var notes []string
	world := Host{BootID: BootID(), Note: func(s string) { notes = append(notes, s) }}
	file, link, used := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "used")
	for _, err := range []error{
		os.WriteFile(file, []byte("theirs"), 0o600), os.Symlink("/theirs", link), os.Mkdir(used, 0o700),
		os.WriteFile(filepath.Join(used, "theirs"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []Entry{
		{Step: Step{Kind: KindFile, Path: file}, Learnt: &Learnt{Inode: Inode(file) + 1}},
		{Step: Step{Kind: KindSymlink, Path: link, Target: "/ours"}},
		{Step: Step{Kind: KindDirectory, Path: used}, Learnt: &Learnt{Inode: Inode(used)}},
		{Step: Step{Kind: KindFile, Path: filepath.Join(dir, "absent")}},
		{Step: Step{Kind: KindCgroup, Path: filepath.Join(dir, "absent")}},
		{Step: Step{Kind: KindMount, Path: filepath.Join(dir, "absent")}},
		{Step: Step{Kind: KindSetting, Path: filepath.Join(dir, "absent"), Old: "1", Value: "2"}},
		{Step: Step{Kind: KindSetting, Path: file, Old: "1", Value: "2"}},
	} {
		if err := world.Remove(context.Background(), e, nil); err != nil {
			t.Errorf("%s: %v", e.Step, err)
		}
	}
	for _, path := range []string{file, link, used} {
		if Inode(path) == 0 {
			t.Errorf("%s is gone", path)
		}
	}
	if len(notes) != 3 {
		t.Errorf("notes: %q", notes)
	}
}

func TestHostRestoresASetting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "setting")
	if err := os.WriteFile(path, []byte("2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := Entry{Step: Step{Kind: KindSetting, Path: path, Old: "1", Value: "2"}}
	for range 2 { // twice: undoing is idempotent
		if err := (Host{BootID: BootID()}).Remove(context.Background(), e, nil); err != nil {
			t.Fatal(err)
		}
		if text, _ := os.ReadFile(path); string(text) != "1\n" {
			t.Errorf("the setting is %q", text)
		}
	}
}
