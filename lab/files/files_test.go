package files

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/openat"
)

// nodeAt is a tree whose / is a folder, as that of a node is.
func nodeAt(t *testing.T, root string) tree {
	return tree{skipped: func(string) {}, open: func(path string, flags int) (*os.File, error) {
		top, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		defer func() { _ = unix.Close(top) }()
		fd, err := openat.Open(top, path, unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), path), nil
	}}
}

// copied copies between two trees as Copy does between the host and a node.
func copied(t *testing.T, source tree, from string, target tree, to string) error {
	t.Helper()
	what, err := source.kind(t.Context(), from)
	if err != nil {
		return err
	}
	if what == nothing {
		return os.ErrNotExist
	}
	into, name, err := landing(t.Context(), target, to, base(from), what)
	if err != nil {
		return err
	}
	return stream(t.Context(), source, from, target, into, name)
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// TestCopiesAreWhole: a folder arrives with its files, modes and links, joins one that is there, and replaces its files.
func TestCopiesAreWhole(t *testing.T) {
	host, root := t.TempDir(), t.TempDir()
	node := nodeAt(t, root)
	write(t, host+"/d/a", strings.Repeat("a", 100000), 0o644)
	write(t, host+"/d/sub/run", "#!/bin/sh\n", 0o755)
	link(t, "/etc/shadow", host+"/d/link")
	for _, to := range []string{"/new", "/", "/"} { // to a new name, into a folder, and over what is there
		if err := copied(t, nodeAt(t, "/"), host+"/d", node, to); err != nil {
			t.Fatalf("to %s: %v", to, err)
		}
	}
	for _, folder := range []string{"new", "d"} {
		text, err := os.ReadFile(filepath.Join(root, folder, "a"))
		info, wrong := os.Stat(filepath.Join(root, folder, "sub/run"))
		to, lost := os.Readlink(filepath.Join(root, folder, "link"))
		if err := errors.Join(err, wrong, lost); err != nil || len(text) != 100000 || info.Mode() != 0o755 || to != "/etc/shadow" {
			t.Errorf("%s: %v, %d bytes, %v, a link to %q", folder, err, len(text), info.Mode(), to)
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, "d"))
	if err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
	for to, words := range map[string]string{"/d/a": "a file, which a folder does not replace", "/none/x": "/none is not a folder", "/none/": "no such folder"} {
		if err := copied(t, nodeAt(t, "/"), host+"/d", node, to); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("to %s: %v; want %q", to, err, words)
		}
	}
}

// TestLinksOfANodeStayInIt: neither what is read nor what is written is the host's.
func TestLinksOfANodeStayInIt(t *testing.T) {
	host, root := t.TempDir(), t.TempDir()
	node := nodeAt(t, root)
	write(t, host+"/secret", "secret", 0o600)
	write(t, host+"/mine", "mine", 0o644)
	write(t, root+"/etc/hostname", "node", 0o644)
	link(t, host+"/secret", root+"/absolute")
	link(t, strings.Repeat("../", 20)+host+"/secret", root+"/upwards")
	link(t, host, root+"/folder")
	link(t, strings.Repeat("../", 20)+"etc/hostname", root+"/name")
	for _, from := range []string{"/absolute", "/upwards", "/folder/secret", "/folder", "/../../" + host + "/secret"} {
		if err := copied(t, node, from, nodeAt(t, "/"), host+"/got"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("from %s: %v", from, err)
		}
	}
	if err := copied(t, node, "/name", nodeAt(t, "/"), host+"/got"); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(host + "/got"); err != nil || string(text) != "node" {
		t.Errorf("%q, %v: not the node's own", text, err)
	}
	if err := copied(t, nodeAt(t, "/"), host+"/mine", node, "/folder/secret"); err == nil {
		t.Error("written through a link to a folder of the host")
	}
	if err := copied(t, nodeAt(t, "/"), host+"/mine", node, "/absolute"); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(host + "/secret"); err != nil || string(text) != "secret" {
		t.Errorf("%q, %v: the host's file was written", text, err)
	}
}

// TestWhatLeavesANodeHasNoRights: no set-user-ID bit, and no device, pipe or socket.
func TestWhatLeavesANodeHasNoRights(t *testing.T) {
	host, root := t.TempDir(), t.TempDir()
	write(t, root+"/d/su", "x", 0o4755|os.ModeSetuid)
	if err := unix.Mkfifo(root+"/d/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	node := nodeAt(t, root)
	var skipped []string
	node.skipped = func(what string) { skipped = append(skipped, what) }
	if err := copied(t, node, "/d", nodeAt(t, "/"), host); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(host + "/d/su")
	if err != nil || info.Mode() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := os.Lstat(host + "/d/pipe"); !errors.Is(err, os.ErrNotExist) || len(skipped) != 1 || skipped[0] != "d/pipe is a pipe, and is not copied" {
		t.Errorf("%v, %q", err, skipped)
	}
	if err := copied(t, node, "/d/pipe", nodeAt(t, "/"), host); err == nil || !strings.Contains(err.Error(), "is a pipe") {
		t.Error(err)
	}
}

// TestNamesOfAGuestStayInTheFolder: a guest's tar may print anything.
func TestNamesOfAGuestStayInTheFolder(t *testing.T) {
	for _, names := range [][]string{{"d/../../x"}, {"/etc/x"}, {"d/", "e/x"}, {".."}, {"d", "d/../x"}} {
		var hostile bytes.Buffer
		w := tar.NewWriter(&hostile)
		for _, name := range names {
			if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), rename(&hostile, io.Discard, "copy")); err == nil || !strings.Contains(err.Error(), "leads out of") {
			t.Errorf("%q: %v", names, err)
		}
	}
}

func TestPaths(t *testing.T) {
	for text, want := range map[string]Path{
		"a:/x": {"a", "/x"}, "a:x": {"a", "x"}, "x": {"", "x"}, "./a:b": {"", "./a:b"}, "/a:b": {"", "/a:b"}, "a:b:c": {"a", "b:c"},
	} {
		if got, err := PathOf(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a:", ":x", ":"} {
		if got, err := PathOf(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

// TestFilesOfTheKernel: /proc says that its files are empty; a folder with /proc in it is copied without it.
func TestFilesOfTheKernel(t *testing.T) {
	host := t.TempDir()
	if err := copied(t, nodeAt(t, "/"), "/proc/self/status", nodeAt(t, "/"), host); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(host + "/status"); err != nil || !strings.Contains(string(text), "Threads:") {
		t.Errorf("%q, %v", text, err)
	}
	f, err := os.Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if !ofKernel(f) {
		t.Error("/proc is taken for data")
	}
}
