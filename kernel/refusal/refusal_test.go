package refusal

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

func TestWhatHoldsAProcessBack(t *testing.T) {
	for _, c := range []struct {
		root      bool
		effective uint64
		lockdown  string
		want      string
	}{
		{false, 0, "", "run it with sudo"},
		{true, 1 << unix.CAP_SYS_ADMIN, "", "root here is without CAP_BPF, CAP_DAC_OVERRIDE"},
		{true, math.MaxUint64 &^ (1 << unix.CAP_SYS_ADMIN), "", "root here is without CAP_SYS_ADMIN, as in a container"},
		{true, math.MaxUint64 &^ (1 << unix.CAP_SYS_TIME), "", "a security module"}, // nines does not need it
		{true, math.MaxUint64, "integrity", "locked down (integrity)"},
		{true, math.MaxUint64, "", "a security module"},
	} {
		if got := held(c.root, c.effective, unix.CAP_LAST_CAP, c.lockdown); !strings.Contains(got, c.want) {
			t.Errorf("root %v, capabilities %x, lockdown %q: %q, want %q", c.root, c.effective, c.lockdown, got, c.want)
		}
	}
	if got := held(true, math.MaxUint64&^(1<<unix.CAP_BPF), unix.CAP_BPF-1, ""); strings.Contains(got, "CAP_BPF") {
		t.Errorf("a kernel that does not know it: %q", got)
	}
}

// TestFlagsOfAFileAreNamed, wherever in the error its path is, and those of its folder.
func TestFlagsOfAFileAreNamed(t *testing.T) {
	labtest.Root(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "journal")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of    string
		flags int // FS_IMMUTABLE_FL and FS_APPEND_FL in include/uapi/linux/fs.h
		fails func() error
		want  string
	}{
		{path, 0x10, func() error { return os.Remove(path) }, path + " is immutable, for root too; 'chattr -i " + path + "'"},
		{path, 0x20, func() error { return os.Rename(path, path+".new") }, path + " can only be appended to"},
		{dir, 0x10, func() error {
			return errors.Join(errors.New("x"), fmt.Errorf("make it: %w", os.Mkdir(path+".d", 0o700)))
		}, dir + " is immutable"},
	} {
		flag(t, c.of, c.flags)
		err := c.fails()
		why := Why(err)
		flag(t, c.of, 0)
		if !strings.HasPrefix(why, c.want) {
			t.Errorf("%v: %q, want %q", err, why, c.want)
		}
	}
	for _, other := range []error{nil, errors.New("x"), &fs.PathError{Op: "open", Path: path, Err: unix.EACCES}} {
		if why := Why(other); why != "" {
			t.Errorf("%v: %q", other, why)
		}
	}
}

// flag sets the flags of a file as chattr does.
func flag(t *testing.T, path string, flags int) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	err = unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, flags)
	labtest.Require(t, "a file system with flags of files", !errors.Is(err, unix.ENOTTY) && !errors.Is(err, unix.EOPNOTSUPP))
	if err != nil {
		t.Fatal(err)
	}
}
