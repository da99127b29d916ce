package script

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func newFolder(t *testing.T, limit int64) (folder *Folder, dir string) {
	t.Helper()
	dir = t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	if folder, err = NewFolder(root, "a", limit); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Close() })
	return folder, filepath.Join(dir, "a")
}

// TestUploadsOfOneNameAtOnce do not write into one another: the one that is whole last stays.
func TestUploadsOfOneNameAtOnce(t *testing.T) {
	folder, dir := newFolder(t, 1000)
	from, slow := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- folder.Upload("x", 6, from) }()
	if _, err := slow.Write([]byte("slo")); err != nil {
		t.Fatal(err)
	}
	if err := folder.Upload("x", 4, strings.NewReader("fast")); err != nil {
		t.Error(err)
	}
	if _, err := slow.Write([]byte("wly")); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, UploadsFolder, "x")); err != nil || string(text) != "slowly" {
		t.Errorf("the file has %q, %v", text, err)
	}
}

func TestUploadsStayInTheirFolder(t *testing.T) {
	folder, dir := newFolder(t, 1000)
	for _, name := range []string{"", ".", "..", "../up", "/etc/passwd", "a/../../up", "a//b", "a/", "./a", ".hidden", "a/.b", "-rf", "a\nb", "a\x00", `a\b`, "a\xff", strings.Repeat("x", longestName+1), strings.Repeat("x/", deepestName) + "x"} {
		if err := folder.Upload(name, 1, strings.NewReader("x")); err == nil {
			t.Errorf("%q is taken as a name", name)
		}
	}
	// What someone else put there is not followed out of the folder.
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, UploadsFolder, "link")); err != nil {
		t.Fatal(err)
	}
	if err := folder.Upload("link/file", 1, strings.NewReader("x")); err == nil {
		t.Error("a link is followed")
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("%v is outside: %v", left, err)
	}
	if len(folder.Uploads()) > 0 {
		t.Errorf("it has %v", folder.Uploads())
	}
}

func TestUploadsAreKept(t *testing.T) {
	folder, dir := newFolder(t, 10)
	for _, text := range []string{"before", "12345"} {
		if err := folder.Upload("sub/file.csv", int64(len(text)), strings.NewReader(text)); err != nil {
			if text == "12345" && strings.Contains(err.Error(), "4 are left") && strings.Contains(err.Error(), "upload_limit") {
				continue
			}
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, UploadsFolder, "sub", "file.csv")
	if text, err := os.ReadFile(path); err != nil || string(text) != "before" {
		t.Errorf("it has %q, %v", text, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if err := folder.Upload("short", 4, strings.NewReader("ab")); err == nil || !strings.Contains(err.Error(), "2 of 4") {
		t.Errorf("half an upload: %v", err)
	}
	if err := folder.Upload("whole", 4, strings.NewReader("abcd")); err != nil {
		t.Errorf("half an upload took room from the next: %v", err)
	}
	if got := strings.Join(folder.Uploads(), " "); got != "sub/file.csv whole" {
		t.Errorf("the uploads are %s", got)
	}
	entries, err := os.ReadDir(filepath.Join(dir, UploadsFolder))
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

func TestOutputIsCutAtTheLimit(t *testing.T) {
	folder, dir := newFolder(t, 10)
	out, err := folder.output(StdoutFile)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if n, err := out.Write([]byte("12345678")); n != 8 || err != nil {
			t.Fatalf("a script's write fails: %d, %v", n, err)
		}
	}
	if err := out.Close(); err != nil || !out.Cut() || !strings.HasSuffix(out.Last(), "12345678") {
		t.Errorf("cut %v, last %q, %v", out.Cut(), out.Last(), err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, StdoutFile)); err != nil || string(text) != "1234567812" {
		t.Errorf("it keeps %q, %v", text, err)
	}
}

func FuzzUploadName(f *testing.F) {
	for _, name := range []string{"a", "../a", "a/b", "/", ".", "a/./b", "\x00"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if uploadName(name) != nil {
			return
		}
		if !filepath.IsLocal(name) || filepath.Clean(name) != name || strings.HasPrefix(filepath.Base(name), ".") {
			t.Errorf("%q is taken", name)
		}
	})
}
