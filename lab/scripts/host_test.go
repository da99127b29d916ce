package scripts

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"nines.dev/nines/journal"
	"nines.dev/nines/test/labtest"
)

// undoing is a host_teardown as it is undone, with the notes that it leaves.
func undoing(t *testing.T, text string) (u journal.Undoing, notes *[]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "host_teardown")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	notes = new([]string)
	step := journal.Step{Kind: KindHostScript, Path: path, Value: "1m0s"}
	return journal.Undoing{Entry: journal.Entry{Step: step}, Note: func(note string) { *notes = append(*notes, note) }}, notes
}

// TestAnInterruptedDownRunsTheHostTeardown: it runs under a context that has ended, and its leash is
// not in the process group that a terminal sends its Ctrl-C to.
func TestAnInterruptedDownRunsTheHostTeardown(t *testing.T) {
	labtest.Root(t)
	out := filepath.Join(t.TempDir(), "group")
	u, notes := undoing(t, "read -r _ _ _ _ group _ < /proc/$PPID/stat\necho $group > "+out+"\n")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := runHostTeardown(ctx, u); err != nil || len(*notes) > 0 {
		t.Fatalf("%v, %q", err, *notes)
	}
	group, err := os.ReadFile(out)
	if err != nil {
		t.Fatal("the script did not run:", err)
	}
	if got := strings.TrimSpace(string(group)); got == "" || got == strconv.Itoa(syscall.Getpgrp()) {
		t.Errorf("the leash is in the process group %q, as this process is", got)
	}
}

// TestAHostTeardownThatDidNotRunStays in the journal, and one that failed does not.
func TestAHostTeardownThatDidNotRunStays(t *testing.T) {
	unread, _ := undoing(t, "")
	unread.Path = filepath.Dir(unread.Path) // a folder cannot be read as a script
	if err := runHostTeardown(context.Background(), unread); !errors.Is(err, errNotStarted) {
		t.Errorf("a script that cannot be read: %v", err)
	}
	for text, want := range map[string]string{
		"echo no bridge >&2; exit 3": "no bridge",
		"#!/nowhere/at/all\n":        "/nowhere/at/all",
	} {
		u, notes := undoing(t, text)
		if err := runHostTeardown(context.Background(), u); err != nil || len(*notes) != 1 || !strings.Contains((*notes)[0], want) {
			t.Errorf("%q: %v, %q", text, err, *notes)
		}
	}
}
