package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

func imported(t testing.TB, s Store, name string, img v1.Image) Entry {
	t.Helper()
	entry, err := s.Import(context.Background(), spec.ImageName{Form: spec.ImageLayout, Path: layoutWith(t, map[string]v1.Image{"": img})}, name, false)
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

func TestImagesComeAndGoByTheirNames(t *testing.T) {
	s := newStore(t)
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Fatalf("an empty store has %v, %v", list, err)
	}
	img := imageOf(t, v1.Config{User: "web"}, layerOf(t, lower...), layerOf(t, upper...))
	first := imported(t, s, "frr", img)
	imported(t, s, "alias", img)
	imported(t, s, "other", imageOf(t, v1.Config{}, layerOf(t, upper...)))
	list, err := s.List()
	if err != nil || len(list) != 3 || list[0].Digest != first.Digest || list[1].Name != "frr" || list[1].Bytes == 0 {
		t.Fatalf("the store has %+v, %v", list, err)
	}
	if got, err := s.Unpack(context.Background(), "frr"); err != nil || got.Config.User != "web" || got.Digest != first.Digest {
		t.Errorf("unpacked: %+v, %v", got, err)
	}
	if _, err := s.Import(context.Background(), spec.ImageName{Form: spec.ImageLayout, Path: s.layoutOf(first.Digest)}, "other", false); err == nil || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("a name that is taken: %v", err)
	}
	if e, err := s.Import(context.Background(), spec.ImageName{Form: spec.ImageLayout, Path: s.layoutOf(first.Digest)}, "other", true); err != nil || e.Digest != first.Digest {
		t.Errorf("replaced: %+v, %v", e, err)
	}
	imported(t, s, "more", img)
	if err := s.Remove(context.Background(), "absent", "more", "gone"); exit.Code(err) != exit.Failed || !strings.Contains(err.Error(), `"absent", "gone" do not exist`) {
		t.Errorf("absent names: %v", err)
	}
	if _, err := s.Named("more"); err == nil {
		t.Error("the known name among absent ones is there")
	}
	if err := s.Remove(context.Background(), "../names/frr"); err == nil {
		t.Error("a path is no name")
	}
	if err := s.Remove(context.Background(), "frr", "other"); err != nil {
		t.Fatal(err)
	}
	if left := foldersOf(t, s); !slices.Equal(left, []string{"layouts/" + digestName(first.Digest)}) {
		t.Errorf("with the alias there is %q", left)
	}
	if err := s.Remove(context.Background(), "alias"); err != nil {
		t.Fatal(err)
	}
	if left := foldersOf(t, s); len(left) != 0 {
		t.Errorf("without a name there is %q", left)
	}
}

// foldersOf are the images in a store, with what is left of killed work.
func foldersOf(t testing.TB, s Store) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(s.Dir, "*", "sha256-*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i] = strings.TrimPrefix(found[i], s.Dir+"/")
	}
	return found
}

// TestAnImageLeavesAsItCame: what is exported in a form can be imported again, and the same image
// gives the same files.
func TestAnImageLeavesAsItCame(t *testing.T) {
	labtest.Root(t)
	for _, program := range []string{"xz", "mke2fs"} {
		_, err := exec.LookPath(program)
		labtest.Require(t, program, err == nil)
	}
	s := newStore(t)
	imported(t, s, "frr", imageOf(t, v1.Config{}, layerOf(t, lower...), layerOf(t, upper...)))
	want, err := s.Unpack(context.Background(), "frr")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range Formats {
		var written [2]string
		for i := range written {
			written[i] = filepath.Join(dir, string(f.Format)+string(rune('0'+i)))
			if err := s.Export(context.Background(), "frr", f.Format, written[i]); err != nil {
				t.Fatalf("%s: %v", f.Format, err)
			}
		}
		if f.Format == FormatDisk {
			continue // its file system has a time and an identity of its own
		}
		if out, err := exec.Command("diff", "-r", written[0], written[1]).CombinedOutput(); err != nil {
			t.Errorf("%s is not the same twice: %s", f.Format, out)
		}
		from := spec.ImageName{Form: spec.ImageForm(f.Format), Path: written[0]}
		again := string(f.Format) + "-again"
		if _, err := s.Import(context.Background(), from, again, false); err != nil {
			t.Fatalf("%s: import: %v", f.Format, err)
		}
		got, err := s.Unpack(context.Background(), again)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(tree(t, got.Root), tree(t, want.Root)) {
			t.Errorf("%s: it came back as %q", f.Format, tree(t, got.Root))
		}
	}
	if err := s.Export(context.Background(), "frr", FormatLayout, filepath.Join(dir, "oci0")); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("over an old one: %v", err)
	}
	out, err := exec.Command("debugfs", "-R", "cat /new", filepath.Join(dir, "disk0")).Output()
	if err != nil || string(out) != "2" {
		t.Errorf("the disk has %q: %v", out, err)
	}
}

// TestAnImageIsExportedToARelativePath: below the current folder, wherever the programs that write it
// run, also where the path looks like an option.
func TestAnImageIsExportedToARelativePath(t *testing.T) {
	labtest.Root(t)
	for _, program := range []string{"xz", "mke2fs"} {
		_, err := exec.LookPath(program)
		labtest.Require(t, program, err == nil)
	}
	s := newStore(t)
	imported(t, s, "frr", imageOf(t, v1.Config{}, layerOf(t, lower...)))
	dir := t.TempDir()
	t.Chdir(dir)
	for _, f := range Formats {
		for _, begin := range []string{"", "-"} {
			path := fmt.Sprintf("%snines-export-%d-%s", begin, os.Getpid(), f.Format)
			if err := s.Export(context.Background(), "frr", f.Format, path); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			if info, err := os.Lstat(filepath.Join(dir, path)); err != nil || info.Size() == 0 {
				t.Errorf("%s is not in the current folder, or empty: %v", path, err)
			}
			if _, err := os.Lstat("/" + path); err == nil {
				t.Errorf("%s was written into /", path)
				_ = os.Remove("/" + path)
			}
		}
	}
}

// TestAnExportLeavesWhatAnotherMade: at its path, after it has begun; and of its own nothing, but what
// is whole.
func TestAnExportLeavesWhatAnotherMade(t *testing.T) {
	s := newStore(t)
	imported(t, s, "frr", imageOf(t, v1.Config{}, layerOf(t, lower...)))
	for _, format := range []Format{FormatLayout, FormatArchive} {
		for _, folder := range []bool{false, true} {
			dir := t.TempDir()
			path := filepath.Join(dir, "out")
			theirs := path
			s.Progress = func(string) { // the export has looked whether something is there
				if folder {
					theirs = filepath.Join(path, "theirs")
					if err := os.Mkdir(path, 0o755); err != nil {
						t.Error(err)
					}
				}
				if err := os.WriteFile(theirs, []byte("theirs"), 0o644); err != nil {
					t.Error(err)
				}
			}
			if err := s.Export(context.Background(), "frr", format, path); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "already exists") {
				t.Errorf("%s: %v", format, err)
			}
			if text, err := os.ReadFile(theirs); string(text) != "theirs" {
				t.Errorf("%s: what another made is %q: %v", format, text, err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("%s: left: %v, %v", format, left, err)
			}
		}
	}
}

// TestAnImageIsBuiltOnAnother: files and a script change it, the same inputs are built once, and
// built again they give the same digest.
func TestAnImageIsBuiltOnAnother(t *testing.T) {
	labtest.Root(t)
	busybox, err := exec.LookPath("busybox")
	labtest.Require(t, "busybox-static", err == nil)
	s, dir := newStore(t), t.TempDir()
	program, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}
	config := v1.Config{Entrypoint: []string{"serve"}, Cmd: []string{"--all"}, User: "web", WorkingDir: "/srv", Env: []string{"PATH=/own", "SHAPE=round"}}
	imported(t, s, "base", imageOf(t, config, layerOf(t, append(slices.Clone(lower), entry{"bin/", ""}, entry{"bin/busybox", string(program)}, entry{"bin/sh", "->busybox"})...), layerOf(t, upper...)))
	script, motd := filepath.Join(dir, "setup"), filepath.Join(dir, "motd")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// busybox was imported without its mode.
	write(motd, "hello\n")
	write(script, "#!/own/busybox sh\n/own/busybox cat /etc/motd >/made 2>/dev/null\n/own/busybox date >/var-date\n/own/busybox rm /var-date\n")
	run := filepath.Join(dir, "busybox")
	if err := os.WriteFile(run, program, 0o755); err != nil {
		t.Fatal(err)
	}
	r := spec.ImageRecipe{From: "base", Script: script, Files: []spec.ImageFile{{Source: motd, Target: "/etc/motd"}, {Source: run, Target: "/own/busybox"}}}
	built, err := s.Build(context.Background(), "mine", r, false)
	if err != nil {
		t.Fatal(err)
	}
	u, err := s.Unpack(context.Background(), "mine")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(u.Config, config) {
		t.Errorf("its configuration is %+v, and the one of its base %+v", u.Config, config)
	}
	if text, err := os.ReadFile(filepath.Join(u.Root, "made")); err != nil || string(text) != "hello\n" {
		t.Errorf("the script made %q: %v", text, err)
	}
	for _, absent := range []string{"nines-script", "dev/null", "etc/resolv.conf"} {
		if _, err := os.Lstat(filepath.Join(u.Root, absent)); err == nil {
			t.Errorf("the build left %s", absent)
		}
	}
	said := 0
	s.Progress = func(string) { said++ }
	if again, err := s.Build(context.Background(), "mine", r, false); err != nil || again != built || said > 0 {
		t.Errorf("it was not taken from the store: %+v, %v, %d words", again, err, said)
	}
	if again, err := s.Build(context.Background(), "mine", r, true); err != nil || again.Digest != built.Digest || said == 0 {
		t.Errorf("built again it is %+v: %v", again, err)
	}
	write(motd, "other\n")
	if changed, err := s.Build(context.Background(), "mine", r, false); err != nil || changed.Digest == built.Digest {
		t.Errorf("with another file it is %+v: %v", changed, err)
	}
	write(script, "#!/own/busybox sh\n/own/busybox echo it went wrong >&2\nexit 3\n")
	if _, err := s.Build(context.Background(), "mine", r, false); err == nil || !strings.Contains(err.Error(), "it went wrong") {
		t.Errorf("a script that fails: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir, buildsFolder, "*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if _, err := s.Build(context.Background(), "base", r, false); err == nil || !strings.Contains(err.Error(), "was imported") {
		t.Errorf("over an imported one: %v", err)
	}
}

// TestBuildersAtOnceBuildOnce: those of several nodes, or of several processes, with the same recipe
// wait for the first, and have its image.
func TestBuildersAtOnceBuildOnce(t *testing.T) {
	labtest.Root(t)
	s, dir := newStore(t), t.TempDir()
	imported(t, s, "base", imageOf(t, v1.Config{}, layerOf(t, lower...)))
	motd := filepath.Join(dir, "motd")
	if err := os.WriteFile(motd, []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := spec.ImageRecipe{From: "base", Files: []spec.ImageFile{{Source: motd, Target: "/etc/motd"}}}
	for round := range 5 {
		var builders sync.WaitGroup
		var builds atomic.Int32
		s.Progress = func(what string) {
			if strings.HasPrefix(what, "building") {
				builds.Add(1)
			}
		}
		name := fmt.Sprintf("mine%d", round)
		var entries [4]Entry
		for i := range entries {
			builders.Go(func() {
				var err error
				if entries[i], err = s.Build(context.Background(), name, r, false); err != nil {
					t.Error(err)
				} else if _, err := s.UnpackEntry(context.Background(), entries[i]); err != nil {
					t.Error(err)
				}
			})
		}
		builders.Wait()
		if builds.Load() != 1 || entries[0] == (Entry{}) || entries != [4]Entry{entries[0], entries[0], entries[0], entries[0]} {
			t.Errorf("%d builds gave %+v", builds.Load(), entries)
		}
	}
}

// TestNothingOfAKilledBuildIsUsed: neither what it made by halves, nor what it made whole, whose
// packages are of another day.
func TestNothingOfAKilledBuildIsUsed(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Root(t)
	s := newStore(t)
	imported(t, s, "base", imageOf(t, v1.Config{}, layerOf(t, lower...)))
	r := spec.ImageRecipe{From: "base"}
	in, _, err := s.inputsOf(r)
	if err != nil {
		t.Fatal(err)
	}
	leave := func() {
		t.Helper()
		dir := filepath.Join(s.Dir, buildsFolder, in.key()[:32])
		for _, folder := range []string{dir, dir + ".unfinished"} {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, rootTar), layerOf(t, entry{"old", "1"}), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(dir+buildLock, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gone := func(after string) {
		t.Helper()
		if left, _ := filepath.Glob(filepath.Join(s.Dir, buildsFolder, "*")); len(left) > 0 {
			t.Errorf("%s left %q", after, left)
		}
	}
	leave()
	if _, err := s.Build(context.Background(), "mine", r, false); err != nil {
		t.Fatal(err)
	}
	u, err := s.Unpack(context.Background(), "mine")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(u.Root, "etc/group")); err != nil {
		t.Errorf("it is not what the recipe says: %v", err)
	}
	gone("the build")
	leave()
	if err := s.Prune(context.Background()); err != nil {
		t.Fatal(err)
	}
	gone("prune")
}

// TestAnImageThatIsUsedMeanwhileStays: a name or a container that comes after the first look of a
// removal keeps its image.
func TestAnImageThatIsUsedMeanwhileStays(t *testing.T) {
	labtest.Root(t)
	s := newStore(t)
	e := imported(t, s, "frr", imageOf(t, v1.Config{}, layerOf(t, lower...)))
	u, err := s.Unpack(context.Background(), "frr")
	if err != nil {
		t.Fatal(err)
	}
	unused := func() (func(string) bool, error) { return func(string) bool { return false }, nil }
	// late is a look whose first time sees nothing yet.
	late := func(now look) look {
		looked := false
		return func() (func(string) bool, error) {
			if !looked {
				looked = true
				return unused()
			}
			return now()
		}
	}
	// It ends with its input, and with it its namespace and the mount.
	container := exec.Command("unshare", "--mount", "sh", "-ec", `mount -t overlay nines -o "lowerdir=$1:$2" "$3"; echo up; read -r end || true`,
		"sh", u.Root, t.TempDir(), t.TempDir())
	end, err := container.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	says, err := container.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	container.Stderr = os.Stderr
	if err := container.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(says, make([]byte, len("up\n"))); err != nil {
		t.Errorf("it has mounted nothing: %v", err)
	}
	for folder, now := range map[string]look{layoutsFolder: s.named, unpackedFolder: used} {
		if err := s.prune(context.Background(), folder, late(now)); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
	}
	if left := foldersOf(t, s); !slices.Equal(left, []string{"layouts/" + digestName(e.Digest), "unpacked/" + digestName(e.Digest)}) {
		t.Errorf("there is %q", left)
	}
	if err := errors.Join(end.Close(), container.Wait()); err != nil {
		t.Error(err)
	}
	if err := s.Remove(context.Background(), "frr"); err != nil {
		t.Fatal(err)
	}
	if left := foldersOf(t, s); len(left) > 0 {
		t.Errorf("what nobody uses is there: %q", left)
	}
}

// TestARemovalThatWasKilledEndsNoContainer: between the rename and the second look something may have begun
// to use the image. Its files stay for the next use, and for the next removal.
func TestARemovalThatWasKilledEndsNoContainer(t *testing.T) {
	labtest.Guarantee(t)
	s := newStore(t)
	e := imported(t, s, "frr", imageOf(t, v1.Config{}, layerOf(t, lower...)))
	u, err := s.Unpack(context.Background(), "frr")
	if err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(u.Root) // so that no other folder gets its inode
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	before, err := held.Stat()
	if err != nil {
		t.Fatal(err)
	}
	name, unpacked := digestName(e.Digest), filepath.Join(s.Dir, unpackedFolder)
	// killed leaves what a removal leaves that ends in its look.
	killed := func() {
		t.Helper()
		own, err := os.OpenRoot(unpacked)
		if err != nil {
			t.Fatal(err)
		}
		defer own.Close()
		defer func() {
			if recover() == nil {
				t.Error("it did not look")
			}
		}()
		_ = removeUnused(own, name, func() (func(string) bool, error) { panic("killed") })
	}
	uses := func() (func(string) bool, error) { return func(called string) bool { return called == name }, nil }
	for after, next := range map[string]func() error{
		"another image": func() error {
			imported(t, s, "other", imageOf(t, v1.Config{}, layerOf(t, upper...)))
			_, err := s.Unpack(context.Background(), "other")
			return err
		},
		"a removal":    func() error { return s.prune(context.Background(), unpackedFolder, uses) },
		"the next use": func() error { return nil },
	} {
		killed()
		if _, err := os.Stat(u.Root); err == nil {
			t.Fatal("it still has its name")
		}
		if err := next(); err != nil {
			t.Errorf("%s: %v", after, err)
		}
		again, err := s.Unpack(context.Background(), "frr")
		if err != nil {
			t.Fatal(err)
		}
		if now, err := os.Stat(again.Root); err != nil || !os.SameFile(before, now) {
			t.Errorf("after %s the files are others: %v", after, err)
		}
		if text, err := os.ReadFile(filepath.Join(again.Root, "old")); string(text) != "1" {
			t.Errorf("after %s a file has %q: %v", after, text, err)
		}
	}
	killed()
	if err := s.Prune(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(unpacked); err != nil || len(left) > 0 {
		t.Errorf("what nobody uses is there: %v, %v", left, err)
	}
}

// TestOwnersAreRootsBusiness: without root no image leaves as files, whose owners would be wrong, and
// root takes no files that another user has unpacked.
func TestOwnersAreRootsBusiness(t *testing.T) {
	labtest.Root(t)
	s, dir := newStore(t), t.TempDir()
	imported(t, s, "frr", imageOf(t, v1.Config{}, layerOf(t, lower...)))
	export := func(f Format) error {
		return s.Export(context.Background(), "frr", f, filepath.Join(dir, string(f)))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer setUser(t, 65534)()
		for _, f := range []Format{FormatRootfs, FormatLXC, FormatDisk} {
			if err := export(f); exit.Code(err) != exit.Lacks || !strings.Contains(err.Error(), "sudo") {
				t.Errorf("%s without root: %v", f, err)
			}
		}
	}()
	<-done
	u, err := s.Unpack(context.Background(), "frr")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(filepath.Dir(u.Root), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Unpack(context.Background(), "frr"); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "rm --unpacked") {
		t.Errorf("what user 65534 has unpacked: %v", err)
	}
	if err := export(FormatRootfs); exit.Code(err) != exit.Wrong {
		t.Errorf("exported from it: %v", err)
	}
	if err := s.Remove(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := export(FormatDisk); err != nil {
		t.Errorf("after the remedy: %v", err)
	}
}

// setUser makes this thread another user's; the system call is not the one of package syscall, which
// changes all threads.
func setUser(t testing.TB, uid uintptr) (back func()) {
	runtime.LockOSThread()
	if _, _, no := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uid, ^uintptr(0)); no != 0 {
		t.Errorf("setresuid: %v", no)
	}
	return func() {
		if _, _, no := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), 0, ^uintptr(0)); no != 0 {
			t.Errorf("setresuid: %v", no)
		}
		runtime.UnlockOSThread()
	}
}
