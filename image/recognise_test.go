package image

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
)

// TestAPathTellsWhatItIs: files and folders are taken without a word on their form; where that is in doubt,
// nothing is guessed.
func TestAPathTellsWhatItIs(t *testing.T) {
	s, dir := newStore(t), t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	img := imageOf(t, v1.Config{User: "web"}, layerOf(t, lower...))
	saved := filepath.Join(dir, "saved.tar")
	tag, err := name.NewTag("frr:10")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(saved, tag, img); err != nil {
		t.Fatal(err)
	}
	for path, user := range map[string]string{
		layoutWith(t, map[string]v1.Image{"": img}): "web", saved: "web", file("rootfs.tar", layerOf(t, lower...)): "",
	} {
		n, err := spec.ParseImage(path)
		if err != nil {
			t.Fatal(err)
		}
		entry, err := s.Import(context.Background(), n, "it", true)
		if err != nil {
			t.Errorf("import of %s: %v", path, err)
			continue
		}
		direct, err := s.Unpack(context.Background(), path)
		if err != nil || direct.Config.User != user || len(tree(t, direct.Root)) != len(lower) {
			t.Errorf("%s: %+v, %v", path, direct, err)
		}
		again, err := s.Import(context.Background(), spec.ImageName{Form: form(t, entry.From), Path: path}, "again", true)
		if err != nil || again.Digest != entry.Digest {
			t.Errorf("%s, with its form: %+v and %+v, %v", path, entry, again, err)
		}
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file("doubt.tar", layerOf(t, entry{"readme", "1"})): "write docker-archive: before its path",
		file("text", []byte("no archive")):                  "cannot be read as a tar file",
		file("none", nil):                                   "do not identify its format",
		empty:                                               "neither an OCI image layout",
		filepath.Join(dir, "nowhere"):                       "there is no image",
	} {
		if err := s.Check(path); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// form is the form that an image was found to have.
func form(t *testing.T, from string) spec.ImageForm {
	t.Helper()
	n, err := spec.ParseImage(from)
	if err != nil || n.Form == spec.ImagePath {
		t.Errorf("the store says that it is from %q: %v", from, err)
	}
	return n.Form
}
