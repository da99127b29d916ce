package image

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// entry is a file of a layer for tests: a folder with a slash at its end, a link with "->", a hard
// link with "=>", or a file with its content.
type entry struct{ name, content string }

// layerOf makes a layer.
func layerOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(e.content)), ModTime: time.Unix(1000, 0), Uid: os.Getuid(), Gid: os.Getgid()}
		if aim, found := strings.CutPrefix(e.content, "->"); found {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, aim, 0
		}
		if aim, found := strings.CutPrefix(e.content, "=>"); found {
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, aim, 0
		}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag, h.Mode, h.Size = tar.TypeDir, 0o755, 0
		}
		if err := archive.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := archive.Write([]byte(e.content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// tree lists the files below a folder with their contents.
func tree(t testing.TB, root string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name := strings.TrimPrefix(path, root+"/")
		switch {
		case d.IsDir():
			name += "/"
		case d.Type() == fs.ModeSymlink:
			aim, _ := os.Readlink(path)
			name += "->" + aim
		default:
			text, _ := os.ReadFile(path)
			name += "=" + string(text)
		}
		list = append(list, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestLayersAreAppliedFromTheLowestUp(t *testing.T) {
	for name, test := range map[string]struct {
		layers [][]entry
		want   []string
	}{
		"a file is replaced, and a folder stays": {
			[][]entry{{{"a/", ""}, {"a/x", "1"}, {"a/y", "1"}}, {{"a/", ""}, {"a/x", "2"}}},
			[]string{"a/", "a/x=2", "a/y=1"},
		},
		"a whiteout": {
			[][]entry{{{"a/", ""}, {"a/x", "1"}, {"a/y", "1"}}, {{"a/.wh.x", ""}}},
			[]string{"a/", "a/y=1"},
		},
		"an opaque whiteout keeps what its own layer has, wherever it stands in it": {
			[][]entry{{{"a/x", "1"}, {"a/b/x", "1"}}, {{"a/b/y", "2"}, {"a/.wh..wh..opq", ""}, {"a/z", "2"}}},
			[]string{"a/", "a/b/", "a/b/y=2", "a/z=2"},
		},
		"a hard link to a file of a lower layer": {
			[][]entry{{{"a", "1"}}, {{"b", "=>a"}}},
			[]string{"a=1", "b=1"},
		},
		"a file below a link of a lower layer": {
			[][]entry{{{"usr/bin/", ""}, {"bin", "->usr/bin"}}, {{"bin/sh", "2"}}},
			[]string{"bin->usr/bin", "usr/", "usr/bin/", "usr/bin/sh=2"},
		},
		"a folder in place of a file": {
			[][]entry{{{"a", "1"}}, {{"a/", ""}, {"a/x", "2"}}},
			[]string{"a/", "a/x=2"},
		},
		"names are the same with a slash or a dot before them": {
			[][]entry{{{"a/../x", "1"}, {"/y", "1"}, {"./z", "1"}}},
			[]string{"x=1", "y=1", "z=1"},
		},
	} {
		root := t.TempDir()
		for _, l := range test.layers {
			if err := applyLayer(root, bytes.NewReader(layerOf(t, l...)), growthOf(0)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if got := tree(t, root); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestNoLayerReachesOutOfItsRoot: a link of one layer leads where it would in a container, and not
// to the host's file of that name.
func TestNoLayerReachesOutOfItsRoot(t *testing.T) {
	above := t.TempDir()
	root, secret := filepath.Join(above, "root"), filepath.Join(above, "secret")
	if err := os.WriteFile(secret, []byte("host"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, layers := range map[string][][]entry{
		"an absolute link":      {{{"way", "->" + above}}, {{"way/secret", "image"}}},
		"a link upwards":        {{{"way", "->.."}}, {{"way/secret", "image"}}},
		"a whiteout":            {{{"way", "->.."}}, {{"way/.wh.secret", ""}}},
		"an opaque whiteout":    {{{"way", "->.."}}, {{"way/.wh..wh..opq", ""}}},
		"a link, then the file": {{{"secret", "->" + secret}, {"secret", "image"}}},
		"a hard link":           {{{"way", "->.."}, {"mine", "=>way/secret"}}},
		"a hard link upwards":   {{{"mine", "=>../secret"}}},
	} {
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(root, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, l := range layers {
			// Some fail, as there is no such file in the image.
			_ = applyLayer(root, bytes.NewReader(layerOf(t, l...)), growthOf(0))
		}
		if text, err := os.ReadFile(secret); err != nil || string(text) != "host" {
			t.Fatalf("%s: the host's file has %q: %v", name, text, err)
		}
		if text, err := os.ReadFile(filepath.Join(root, "mine")); err == nil && string(text) == "host" {
			t.Errorf("%s: the image has the host's file", name)
		}
	}
}

func TestABadLayerIsRefused(t *testing.T) {
	whole := layerOf(t, entry{"a", "some text"})
	for name, text := range map[string][]byte{
		"cut off":                   whole[:520],
		"a whiteout without a name": layerOf(t, entry{"a/.wh.", ""}),
		"a whiteout upwards":        layerOf(t, entry{"a/.wh...", ""}),
		"the root is a file":        layerOf(t, entry{".", "->x"}),
		"a link to nothing":         layerOf(t, entry{"a", "=>b"}),
	} {
		if err := applyLayer(t.TempDir(), bytes.NewReader(text), growthOf(0)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestTimesAndModesAreTheLayers(t *testing.T) {
	root := t.TempDir()
	if err := applyLayer(root, bytes.NewReader(layerOf(t, entry{"a/", ""}, entry{"a/x", "1"}, entry{"a/l", "->nowhere"})), growthOf(0)); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{"a": 0o755, "a/x": 0o644, "a/l": 0o777} {
		info, err := os.Lstat(filepath.Join(root, name))
		if err != nil || !info.ModTime().Equal(time.Unix(1000, 0)) || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func FuzzALayerStaysInItsRoot(f *testing.F) {
	f.Add(layerOf(f, entry{"a/", ""}, entry{"a/x", "1"}, entry{"a/.wh.x", ""}))
	f.Add(layerOf(f, entry{"way", "->../.."}, entry{"way/x", "1"}, entry{"y", "=>way/x"}))
	f.Fuzz(func(t *testing.T, text []byte) {
		above := t.TempDir()
		root := filepath.Join(above, "root")
		if err := os.Mkdir(root, 0o755); err != nil {
			t.Fatal(err)
		}
		_ = applyLayer(root, bytes.NewReader(text), growthOf(0))
		if names, err := os.ReadDir(above); err != nil || len(names) != 1 {
			t.Fatalf("beside the root there is %v: %v", names, err)
		}
	})
}
