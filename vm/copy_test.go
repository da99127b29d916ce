package vm

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestWhatIsPackedIsUnpacked(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "tree"), t.TempDir()
	if err := os.MkdirAll(filepath.Join(from, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, "sub", "file"), []byte("text"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("sub/file", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time over the first
		var archive bytes.Buffer
		if err := pack(&archive, from); err != nil {
			t.Fatal(err)
		}
		if err := unpack(&archive, to); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(to, "tree", "link")); string(text) != "text" || err != nil {
		t.Errorf("%q %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(to, "tree", "sub", "file")); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v %v", info, err)
	}
}

// A guest may send any archive.
func TestUnpackStaysInItsFolder(t *testing.T) {
	outside := t.TempDir()
	for _, entries := range [][]tar.Header{
		{{Name: "../escaped", Typeflag: tar.TypeReg, Mode: 0o644}},
		{{Name: outside + "/escaped", Typeflag: tar.TypeReg, Mode: 0o644}},
		{{Name: "link", Typeflag: tar.TypeSymlink, Linkname: outside}, {Name: "link/escaped", Typeflag: tar.TypeReg, Mode: 0o644}},
	} {
		into := filepath.Join(t.TempDir(), "into")
		if err := os.Mkdir(into, 0o755); err != nil {
			t.Fatal(err)
		}
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		for _, header := range entries {
			if err := w.WriteHeader(&header); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := unpack(&archive, into); err == nil {
			t.Errorf("%v: no error", entries)
		}
		for _, dir := range []string{outside, filepath.Dir(into)} {
			if _, err := os.Lstat(filepath.Join(dir, "escaped")); err == nil {
				t.Errorf("%v wrote to %s", entries, dir)
			}
		}
	}
}
