package guestimage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/u-root/u-root/pkg/cpio"
	"golang.org/x/sync/errgroup"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

func TestModulesComeAfterWhatTheyNeed(t *testing.T) {
	d := parseDependencies(`kernel/fs/ext4/ext4.ko.xz: kernel/fs/jbd2/jbd2.ko.xz kernel/fs/mbcache.ko.xz kernel/lib/crc16.ko.xz
kernel/fs/jbd2/jbd2.ko.xz: kernel/lib/crc16.ko.xz
kernel/fs/mbcache.ko.xz:
kernel/lib/crc16.ko.xz:
kernel/crypto/crc32c_generic.ko.xz:
kernel/net/9p/9pnet_virtio.ko: kernel/net/9p/9pnet.ko kernel/lib/crc16.ko.xz
kernel/net/9p/9pnet.ko:
kernel/drivers/a-dash.ko: kernel/drivers/b-dash.ko
kernel/drivers/b-dash.ko: kernel/drivers/a-dash.ko
`, "# comment\nsoftdep ext4 pre: crc32c-generic post: nothing\n")
	got := d.order([]string{"ext4", "missing", "9pnet-virtio", "ext4", "a_dash"})
	want := []string{
		"kernel/crypto/crc32c_generic.ko.xz", "kernel/lib/crc16.ko.xz", "kernel/fs/mbcache.ko.xz", "kernel/fs/jbd2/jbd2.ko.xz", "kernel/fs/ext4/ext4.ko.xz",
		"kernel/net/9p/9pnet.ko", "kernel/net/9p/9pnet_virtio.ko", "kernel/drivers/b-dash.ko", "kernel/drivers/a-dash.ko",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestKernelNames(t *testing.T) {
	own := HostRelease().Number
	for name, want := range map[string]string{"debian": "debian" + own, "rt": "rt" + own, "cloud13": "cloud13", "rt12": "rt12", "debian11": "debian11"} {
		if got, err := ParseKernel(name); got != want || err != nil {
			t.Errorf("%s is %s, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "12", "debian10", "rt 12", "../rt12"} {
		if got, err := ParseKernel(name); exit.Code(err) != exit.Wrong {
			t.Errorf("%q is %s, %v", name, got, err)
		}
	}
}

func TestReleaseOf(t *testing.T) {
	for text, want := range map[string]string{
		"ID=debian\nVERSION_CODENAME=bookworm\n": "12", "VERSION_CODENAME=\"trixie\"\nID=debian\n": "13",
		"ID=ubuntu\nVERSION_CODENAME=noble\n": "13", "": "13",
	} {
		if got := releaseOf(text); got.Number != want {
			t.Errorf("%q is Debian %s", text, got.Number)
		}
	}
}

func TestSites(t *testing.T) {
	mirror, security := sites(`http://other/apt stable main
http://mirror/debian bookworm contrib
http://mirror/debian bookworm main
http://second/debian bookworm-updates main
http://mirror/security bookworm-security main
`, []string{"bookworm", "trixie"})
	if mirror != "http://mirror/debian" || security != "http://mirror/security" {
		t.Errorf("%q %q", mirror, security)
	}
}

func TestAnInitramfsHasTheProgramAndItsModules(t *testing.T) {
	first, guest := t.TempDir(), filepath.Join(t.TempDir(), "guest")
	for file, text := range map[string]string{
		guest: "program", filepath.Join(first, moduleList): "one.ko\ntwo.ko\n",
		filepath.Join(first, "one.ko"): "12345", filepath.Join(first, "two.ko"): "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var archive bytes.Buffer
	if err := writeInitramfs(&archive, guest, first); err != nil {
		t.Fatal(err)
	}
	records, err := cpio.ReadAllRecords(cpio.Newc.Reader(bytes.NewReader(archive.Bytes())))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range records {
		var data []byte
		if r.ReaderAt != nil {
			data, _ = io.ReadAll(io.NewSectionReader(r, 0, int64(r.FileSize)))
		}
		got = append(got, fmt.Sprintf("%s %o %s", r.Name, r.Mode, data))
	}
	want := []string{
		"init 100755 program", "modules 40755 ", "modules/one.ko 100755 12345", "modules/two.ko 100755 ",
		"modules.list 100755 /modules/one.ko\n/modules/two.ko\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A failed build leaves nothing, a complete one is made once, and the rest of a killed one
// is removed.
func TestFolderIsWholeOrNotThere(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	r := recipe{Packages: []string{"a"}}
	left := filepath.Join(s.Dir, "root-bookworm-0123abcd"+unfinished)
	if err := os.MkdirAll(filepath.Join(left, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if _, err := s.folder(t.Context(), "x", r, func(context.Context, string) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if entries, _ := os.ReadDir(s.Dir); len(entries) != 0 {
		t.Errorf("left: %v", entries)
	}
	builds := 0
	for range 2 {
		dir, err := s.folder(t.Context(), "x", r, func(_ context.Context, dir string) error {
			builds++
			return os.WriteFile(filepath.Join(dir, "file"), nil, 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "file")); err != nil {
			t.Error(err)
		}
	}
	if builds != 1 {
		t.Errorf("built %d times", builds)
	}
	if other := (recipe{Packages: []string{"b"}}); other.key() == r.key() {
		t.Error("another recipe has the same key")
	}
}

// TestWhatAnotherLeftStays: a build removes only what a killed build can have left, and nothing behind a
// link.
func TestWhatAnotherLeftStays(t *testing.T) {
	const ours = "root-bookworm-0123abcd" + unfinished
	dir, behind := filepath.Join(t.TempDir(), "machines"), filepath.Join(t.TempDir(), "theirs")
	theirs := []string{filepath.Join(dir, "thesis"+unfinished), filepath.Join(dir, "backup-20261123"+unfinished), filepath.Join(behind, ours)}
	for _, folder := range theirs {
		if err := os.MkdirAll(filepath.Join(folder, "data"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	linked := dir + "-linked"
	if err := errors.Join(os.Symlink(theirs[0], filepath.Join(dir, ours)), os.Symlink(behind, linked)); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Store{{Dir: dir}, {Dir: linked}} {
		if _, err := s.folder(t.Context(), "x", recipe{}, func(context.Context, string) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	for _, folder := range theirs {
		if _, err := os.Stat(filepath.Join(folder, "data")); err != nil {
			t.Error(err)
		}
	}
}

// Images of two recipes are made at the same time (otherwise this test hangs), and neither
// build removes what the other has begun.
func TestImagesAreMadeSideBySide(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	var begun sync.WaitGroup
	begun.Add(2)
	var builds errgroup.Group
	for _, name := range []string{"x", "y"} {
		builds.Go(func() error {
			_, err := s.folder(t.Context(), name, recipe{Packages: []string{name}}, func(_ context.Context, dir string) error {
				begun.Done()
				begun.Wait()
				return os.WriteFile(filepath.Join(dir, "file"), nil, 0o644)
			})
			return err
		})
	}
	if err := builds.Wait(); err != nil {
		t.Error(err)
	}
}

func TestADiskHoldsAFolder(t *testing.T) {
	_, err := exec.LookPath("mke2fs")
	labtest.Require(t, "mke2fs (package e2fsprogs)", err == nil)
	tree, disk := t.TempDir(), filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(filepath.Join(tree, "a"), bytes.Repeat([]byte("x"), 3<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := MakeDisk(t.Context(), disk, tree); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "debugfs", "-R", "stat /a", disk).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Size: 3145728") {
		t.Errorf("%v\n%s", err, out)
	}
}
