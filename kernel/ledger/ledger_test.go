package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

type names []string

func (n *names) Empty() bool { return len(*n) == 0 }

func change(t *testing.T, l File, f func(n names) names) {
	t.Helper()
	n := &names{}
	err := l.Change(n, func(save func() error) error {
		*n = f(*n)
		return save()
	})
	if err != nil {
		t.Error(err)
	}
}

// TestManyChangeOneLedger: no change is lost, and nothing is left after the last entry is
// gone, even while other processes start.
func TestManyChangeOneLedger(t *testing.T) {
	labtest.Guarantee(t)
	top := t.TempDir()
	l := File{Path: filepath.Join(top, "run", "names.json"), Mode: 0o600}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			name := fmt.Sprint(i)
			for range 5 {
				change(t, l, func(n names) names { return append(n, name) })
				change(t, l, func(n names) names {
					at := slices.Index(n, name)
					if at < 0 {
						t.Errorf("%s is lost", name)
						return n
					}
					return slices.Delete(n, at, at+1)
				})
			}
		})
	}
	all.Wait()
	if left, _ := os.ReadDir(top); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestWhatAKilledProcessLeftIsRemoved: a lock without a holder, and half a ledger.
func TestWhatAKilledProcessLeftIsRemoved(t *testing.T) {
	labtest.Guarantee(t)
	l := File{Path: filepath.Join(t.TempDir(), "run", "names.json"), Mode: 0o600}
	if err := os.Mkdir(filepath.Dir(l.Path), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{".lock", ".new"} {
		if err := os.WriteFile(l.Path+left, []byte("["), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Change(&names{}, func(func() error) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(l.Path)); err == nil {
		t.Errorf("left: %v", left)
	}
}

func TestALedgerWrittenInPlaceIsRead(t *testing.T) {
	l := File{Path: filepath.Join(t.TempDir(), "names.json")}
	for text, want := range map[string]names{"": nil, "[\"a\"]\n\"b\"]\n": {"a"}} {
		if err := os.WriteFile(l.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var got names
		if err := l.Read(&got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if err := os.WriteFile(l.Path, []byte("[1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Read(&names{}); err == nil {
		t.Error("half a ledger was read")
	}
}

// TestAFullDiskKeepsNoEntry: an entry goes, and what is written over the old text is read.
func TestAFullDiskKeepsNoEntry(t *testing.T) {
	dir, fill := labtest.FullDisk(t, 4)
	l := File{Path: filepath.Join(dir, "names.json"), Mode: 0o600}
	change(t, l, func(names) names { return names{"first", "second", "third"} })
	fill()
	for _, want := range []names{{"second", "third"}, {"third"}, {"third", "fourth"}} {
		change(t, l, func(names) names { return want })
		var got names
		if err := l.Read(&got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, and not %v: %v", got, want, err)
		}
	}
	// What does not fit leaves the old text whole.
	n := &names{}
	err := l.Change(n, func(save func() error) error {
		*n = append(*n, strings.Repeat("long", 2000))
		return save()
	})
	var got names
	if !errors.Is(err, unix.ENOSPC) || l.Read(&got) != nil || len(got) != 2 {
		t.Errorf("after %v there is %v", err, got)
	}
	change(t, l, func(names) names { return nil })
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("beside what fills the disk: %v, %v", left, err)
	}
}

func TestAnErrorSavesNothing(t *testing.T) {
	l := File{Path: filepath.Join(t.TempDir(), "names.json"), Mode: 0o600}
	wrong := errors.New("wrong")
	n := &names{}
	if err := l.Change(n, func(func() error) error { *n = append(*n, "a"); return wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
	if _, err := os.Stat(l.Path); !os.IsNotExist(err) {
		t.Errorf("the ledger: %v", err)
	}
}
