package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/exit"
)

// someDigest is one that no image has.
var someDigest = digestName(strings.Repeat("0a", 32))

// put makes files with their folders, all below one that the test made.
func put(t testing.TB, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("theirs"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func stay(t testing.TB, after string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if text, err := os.ReadFile(path); string(text) != "theirs" {
			t.Errorf("%s: %s has %q: %v", after, path, text, err)
		}
	}
}

// TestWhatNinesDidNotMakeStaysInTheStore: folders with other names, and what a link with such a name
// leads to. What nines made goes.
func TestWhatNinesDidNotMakeStaysInTheStore(t *testing.T) {
	s := newStore(t)
	imported(t, s, "frr", imageOf(t, v1.Config{}, layerOf(t, lower...)))
	elsewhere := filepath.Join(t.TempDir(), "data")
	theirs := []string{elsewhere, filepath.Join(s.Dir, "thesis", "data")}
	for _, folder := range []string{layoutsFolder, unpackedFolder, buildsFolder} {
		for _, name := range []string{"thesis", "thesis.unfinished", "sha256-thesis", "data.20261123", someDigest + "-mine"} {
			theirs = append(theirs, filepath.Join(s.Dir, folder, name, "data"))
		}
	}
	put(t, theirs...)
	for _, link := range []string{filepath.Join(unpackedFolder, someDigest), filepath.Join(layoutsFolder, someDigest)} {
		if err := os.Symlink(filepath.Dir(elsewhere), filepath.Join(s.Dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	whole := filepath.Join(s.Dir, unpackedFolder, digestName(strings.Repeat("0b", 32)))
	build := filepath.Join(s.Dir, buildsFolder, strings.Repeat("0c", 16))
	put(t, filepath.Join(whole, "data"), filepath.Join(build, "data"), filepath.Join(build+".unfinished", "data"))
	if err := s.Remove(context.Background(), "frr"); err != nil {
		t.Fatal(err)
	}
	stay(t, "rm", theirs...)
	for _, ours := range []string{whole, build, build + ".unfinished"} {
		if _, err := os.Lstat(ours); err == nil {
			t.Errorf("%s stays, which is the store's", ours)
		}
	}
}

// TestNothingIsRemovedBehindALink, nor where others may write: the error names the folder.
func TestNothingIsRemovedBehindALink(t *testing.T) {
	image, build := filepath.Join(someDigest, "data"), filepath.Join(strings.Repeat("0c", 16), "data")
	for _, test := range []struct{ linked, file, remove string }{
		{namesFolder, "frr.json", "frr"}, {layoutsFolder, image, ""}, {unpackedFolder, image, ""}, {buildsFolder, build, ""},
		{".", filepath.Join(namesFolder, "frr.json"), "frr"}, {".", filepath.Join(unpackedFolder, image), ""},
	} {
		s, data := newStore(t), filepath.Join(t.TempDir(), "theirs")
		theirs := filepath.Join(data, test.file)
		put(t, theirs)
		path := filepath.Join(s.Dir, test.linked)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		refused := func(why string) {
			t.Helper()
			var names []string
			if test.remove != "" {
				names = append(names, test.remove)
			}
			err := s.Remove(context.Background(), names...)
			if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), path+" is ") || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v, want %q", test.file, err, why)
			}
		}
		if err := os.Symlink(data, path); err != nil {
			t.Fatal(err)
		}
		refused("symbolic link")
		stay(t, "rm", theirs)
		if err := errors.Join(os.Remove(path), os.Rename(data, path), os.Chmod(path, 0o777)); err != nil {
			t.Fatal(err)
		}
		refused("others may write")
		stay(t, "rm", filepath.Join(path, test.file))
	}
}
