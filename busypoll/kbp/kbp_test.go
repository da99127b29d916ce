package kbp

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

// listed is the content of /proc/net/nines_kbp in the virtual laboratory.
const listed = `nines_kbp 1 open
ifindex name index napi kind group longest thread owned polls packets empty handovers sleeps
2 v1 0 8210 rx 7 50000 189 1 2033645 51 2033594 3 11
2 v1 1 0 tx 0 0 0 0 0 0 0 0 0
3 v2 0 0 gone 7 50000 189 0 9 8 1 0 11
`

// TestAThreadThatCannotBeReadMayPoll: the module is not unloaded then.
func TestAThreadThatCannotBeReadMayPoll(t *testing.T) {
	root := t.TempDir()
	for name, comm := range map[string]string{"7": "bash\n", "8": Name + "/eth0-1\n", "self": ""} {
		if err := errors.Join(os.Mkdir(filepath.Join(root, name), 0o755), os.WriteFile(filepath.Join(root, name, "comm"), []byte(comm), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "9"), 0o755); err != nil { // has ended
		t.Fatal(err)
	}
	if got, err := threadsBelow(root); err != nil || !slices.Equal(got, []int{8}) {
		t.Errorf("%v, %v", got, err)
	}
	if err := os.Mkdir(filepath.Join(root, "9", "comm"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := threadsBelow(root); !errors.Is(err, unix.EISDIR) {
		t.Errorf("one that cannot be read: %v, %v", got, err)
	}
}

func TestListOfInstances(t *testing.T) {
	got, err := parse(listed)
	if err != nil {
		t.Fatal(err)
	}
	want := []Instance{
		{IfIndex: 2, Device: "v1", NAPI: 8210, Kind: "rx", Group: 7, Longest: 50 * time.Microsecond, Thread: 189, Owned: true,
			Polls: 2033645, Packets: 51, Empty: 2033594, Handovers: 3, Sleeps: 11},
		{IfIndex: 2, Device: "v1", Index: 1, Kind: "tx"},
		{IfIndex: 3, Device: "v2", Kind: "gone", Group: 7, Longest: 50 * time.Microsecond, Thread: 189, Polls: 9, Packets: 8, Empty: 1, Sleeps: 11},
	}
	if len(got) != len(want) {
		t.Fatalf("%d instances, not %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("instance %d: %+v, not %+v", i, got[i], want[i])
		}
	}
}

func TestListOfAnotherForm(t *testing.T) {
	for name, text := range map[string]string{
		"another module": "other 1 open\n", "a later form": strings.Replace(listed, "nines_kbp 1", "nines_kbp 2", 1),
		"empty": "", "a field less": strings.Replace(listed, " 3 11\n", " 11\n", 1), "not a number": strings.Replace(listed, "8210", "many", 1),
	} {
		if list, err := parse(text); err == nil {
			t.Errorf("%s: %v, and no error", name, list)
		}
	}
}

func TestPollingIsWritten(t *testing.T) {
	c := Choice{Group: 7, Longest: 50 * time.Microsecond}
	if c.String() != "7/50000" {
		t.Errorf("%v", c)
	}
	for _, wrong := range []string{"", "7", "0/0", "x/1", "7/x", "7/-1", "99999999999/0"} {
		if err := SetPolling("lo", 0, wrong); err == nil || !strings.Contains(err.Error(), "not a polling setting") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func TestGroupsAreNotNought(t *testing.T) {
	seen := map[uint32]bool{}
	for range 1000 {
		g := NewGroup()
		if g == 0 || seen[g] {
			t.Fatalf("group %d, after %d others", g, len(seen))
		}
		seen[g] = true
	}
}

// If the module is gone, so is what it polled, for undo. For users the error says what the
// host lacks, and nines exits with 3.
func TestNotLoaded(t *testing.T) {
	state, err := Now()
	if err != nil {
		t.Fatal(err)
	}
	labtest.Require(t, "a kernel without the module kbp", state == Absent)
	_, err = List()
	var missing *exit.MissingError
	if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &missing) || missing.Reason == "" {
		t.Errorf("%v", err)
	}
}

func TestErrorsOfTheModule(t *testing.T) {
	err := explain(&fs.PathError{Op: "write", Path: controlFile, Err: unix.EBUSY})
	if err.Error() != "it is already polled" || !errors.Is(err, unix.EBUSY) {
		t.Errorf("%v", err)
	}
	if err := explain(unix.ENOMEM); !errors.Is(err, unix.ENOMEM) {
		t.Errorf("%v", err)
	}
}

func TestBuildWantsHeaders(t *testing.T) {
	t.Setenv("NINES_CACHE_DIR", t.TempDir())
	_, err := Build(t.Context(), Target{Release: "6.1.0-999-amd64"}, nil)
	var missing *exit.MissingError
	if !errors.As(err, &missing) || missing.Remedy != "apt-get install linux-headers-6.1.0-999-amd64" {
		t.Errorf("%v", err)
	}
	_, err = Build(t.Context(), Target{Release: "6.6.1"}, nil)
	if !errors.As(err, &missing) || !strings.Contains(missing.Reason, "6.1 and 6.12") {
		t.Errorf("%v", err)
	}
}

// A build with a stand-in for the kernel's makefile: its arguments, where the module goes,
// and the report of a failure.
func TestBuildByAMakefile(t *testing.T) {
	_, err := exec.LookPath("make")
	labtest.Require(t, "make", err == nil)
	t.Setenv("NINES_CACHE_DIR", t.TempDir())
	headers := t.TempDir()
	kbuild := func(recipe string) {
		text := "modules:\n\t" + recipe + "\n"
		if err := os.WriteFile(filepath.Join(headers, "Makefile"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	target := Target{Release: "6.1.0-999-amd64", Headers: headers}
	kbuild("@echo 'patch.c:1:2: error: no such thing' >&2; false")
	_, err = Build(t.Context(), target, nil)
	if err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("%v", err)
	}
	if _, err := Find(target.Release); err == nil {
		t.Error("a build that has failed left a module")
	}
	kbuild("cat $(M)/Kbuild $(M)/patch.c > $(M)/nines_kbp.ko")
	path, err := Build(t.Context(), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "klp_enable_patch") {
		t.Errorf("the module is of other sources: %v", err)
	}
	if found, err := Find(target.Release); err != nil || found != path {
		t.Errorf("%s, %v", found, err)
	}
	left, err := os.ReadDir(CacheDir())
	if err != nil || len(left) != 1 {
		t.Errorf("the cache has %v: %v", left, err)
	}
	// It exists: nothing is built.
	kbuild("false")
	if _, err := Build(t.Context(), target, nil); err != nil {
		t.Error(err)
	}
}

// changeUsers stores what f makes of the users.
func changeUsers(path string, f func([]string) ([]string, error)) error {
	return withUsers(path, func(u *users, save func() error) (err error) {
		if *u, err = f(*u); err != nil {
			return err
		}
		return save()
	})
}

func TestUsersAreNotedInOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nines", "users.json")
	change := func(f func([]string) ([]string, error)) {
		t.Helper()
		if err := changeUsers(path, f); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b"} {
		change(func(users []string) ([]string, error) { return append(users, name), nil })
	}
	// A user who has not loaded it has nothing to release.
	if err := Release(t.Context(), path, "c", func(note string) { t.Error(note) }); err != nil {
		t.Error(err)
	}
	if err := Release(t.Context(), path, "a", func(note string) { t.Error(note) }); err != nil {
		t.Error(err)
	}
	change(func(users []string) ([]string, error) {
		if len(users) != 1 || users[0] != "b" {
			t.Errorf("users %v", users)
		}
		return users, nil
	})
	change(func([]string) ([]string, error) { return nil, nil })
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nobody uses it, and the file is there: %v", err)
	}
	// Many at once: none is lost.
	const many = 20
	done := make(chan error)
	for i := range many {
		go func() {
			done <- changeUsers(path, func(users []string) ([]string, error) {
				return append(users, strings.Repeat("x", i+1)), nil
			})
		}()
	}
	for range many {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	change(func(users []string) ([]string, error) {
		if len(users) != many {
			t.Errorf("%d users of %d", len(users), many)
		}
		return nil, nil
	})
}
