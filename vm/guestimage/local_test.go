package guestimage

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

// bzImage is an image's header with a version, as boot.rst describes it.
func bzImage(version string) []byte {
	data := make([]byte, 0x400)
	copy(data[headerOffset:], headerMark)
	binary.LittleEndian.PutUint16(data[versionOffset:], 0x100)
	copy(data[0x300:], version+"\x00")
	return data
}

func TestKernelVersion(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want string // empty: refused
	}{
		"of Debian":       {bzImage("6.1.0-50-amd64 (debian-kernel@lists.debian.org) #1 SMP"), "6.1.0-50-amd64"},
		"without version": {bzImage(""), ""},
		"with a path":     {bzImage("../../etc x"), ""},
		"text":            {[]byte("no kernel\n"), ""},
		"empty":           {nil, ""},
	} {
		path := filepath.Join(t.TempDir(), "vmlinuz")
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := kernelVersion(path)
		if got != c.want || c.want == "" && exit.Code(err) != exit.Lacks {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := kernelVersion("/no/such/image"); err == nil || !strings.Contains(err.Error(), "kernel: debian") {
		t.Errorf("no image: %v", err)
	}
}

// TestLocalWithoutModules: a kernel without modules boots with an empty list of them.
func TestLocalWithoutModules(t *testing.T) {
	dir := t.TempDir()
	path, guest := filepath.Join(dir, "vmlinuz"), filepath.Join(dir, "guest")
	for name, data := range map[string][]byte{path: bzImage("9.9.9-nines x"), guest: []byte("program")} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store := Store{Dir: filepath.Join(dir, "store"), Guest: guest}
	for range 2 { // made, then found
		k, err := store.Local(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		initrd, err := os.ReadFile(k.Initrd)
		if err != nil || k.Version != "9.9.9-nines" || k.Modules != "" || !bytes.Contains(initrd, []byte("program")) {
			t.Errorf("%+v, %v", k, err)
		}
	}
}

// TestOverlay unpacks one with busybox, as the kernel would.
func TestOverlay(t *testing.T) {
	busybox, err := exec.LookPath("busybox")
	labtest.Require(t, "busybox", err == nil)
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	if err := os.WriteFile(source, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := Overlay(&archive, []File{{Name: "bin/a/program", Path: source}, {Name: "/bin/link", Target: "a/program"}}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(busybox, "cpio", "-i", "-d")
	cmd.Dir, cmd.Stdin = dir, &archive
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "bin/link"))
	info, statErr := os.Stat(filepath.Join(dir, "bin/a/program"))
	if err != nil || statErr != nil || string(text) != "content" || info.Mode().Perm() != 0o755 {
		t.Errorf("through the link: %q, %v; the program: %v, %v", text, err, info, statErr)
	}
	if err := Overlay(&archive, []File{{Name: "x", Path: filepath.Join(dir, "none")}}); err == nil {
		t.Error("a file that is not there was packed")
	}
}
