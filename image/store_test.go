package image

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// imageOf is an image of layers.
func imageOf(t testing.TB, config v1.Config, layers ...[]byte) v1.Image {
	t.Helper()
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range layers {
		l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil })
		if err != nil {
			t.Fatal(err)
		}
		if img, err = mutate.AppendLayers(img, l); err != nil {
			t.Fatal(err)
		}
	}
	return img
}

func layoutWith(t testing.TB, images map[string]v1.Image) string {
	t.Helper()
	dir := t.TempDir()
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	for called, img := range images {
		if err := path.AppendImage(img, layout.WithAnnotations(map[string]string{refName: called})); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func newStore(t testing.TB) Store {
	t.Helper()
	return Store{Dir: filepath.Join(t.TempDir(), "images")}
}

var (
	lower = []entry{{"etc/", ""}, {"etc/passwd", "root:x:0:0::/root:/bin/sh\nweb:x:33:44::/srv:/bin/sh\n"}, {"etc/group", "web:x:44:\nlogs:x:55:web\n"}, {"old", "1"}}
	upper = []entry{{".wh.old", ""}, {"new", "2"}}
)

// TestEveryFormIsUnpacked: a layout, an archive of docker save, and a root file system as it is,
// and compressed.
func TestEveryFormIsUnpacked(t *testing.T) {
	img := imageOf(t, v1.Config{User: "web", Cmd: []string{"serve"}}, layerOf(t, lower...), layerOf(t, upper...))
	dir := t.TempDir()
	archive, plain, packed := filepath.Join(dir, "saved.tar"), filepath.Join(dir, "rootfs.tar"), filepath.Join(dir, "rootfs.tar.gz")
	tag, err := name.NewTag("frr:10")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(archive, tag, img); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plain, layerOf(t, append(slices.Clone(lower[:3]), entry{"new", "2"})...), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := l.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(compressed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(packed, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	for from, user := range map[string]string{
		"oci:" + layoutWith(t, map[string]v1.Image{"": img}):                                                    "web",
		"oci:" + layoutWith(t, map[string]v1.Image{"frr:10": img, "bird": imageOf(t, v1.Config{})}) + ":frr:10": "web",
		"docker-archive:" + archive: "web", "docker-archive:" + archive + ":frr:10": "web",
		"rootfs:" + plain: "", "rootfs:" + packed: "",
	} {
		got, err := s.Unpack(context.Background(), from)
		if err != nil {
			t.Errorf("%s: %v", from, err)
			continue
		}
		if names := tree(t, got.Root); len(names) != 4 || names[3] != "new=2" || got.Config.User != user {
			t.Errorf("%s: %q, user %q", from, names, got.Config.User)
		}
		again, err := s.Unpack(context.Background(), from)
		if err != nil || again.Root != got.Root {
			t.Errorf("%s: unpacked again: %+v, %v", from, again, err)
		}
	}
	if info, err := os.Stat(s.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others can reach the programs of images: %v, %v", info.Mode(), err)
	}
}

func TestAnImageThatCannotBeUsedIsRefused(t *testing.T) {
	good := imageOf(t, v1.Config{}, layerOf(t, lower...))
	foreign, err := mutate.ConfigFile(good, &v1.ConfigFile{OS: "linux", Architecture: "s390x"})
	if err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := layoutWith(t, map[string]v1.Image{"": good})
	blobs, _ := filepath.Glob(filepath.Join(damaged, "blobs/sha256/*"))
	for _, blob := range blobs {
		if content, _ := os.ReadFile(blob); len(content) > 0 && content[0] == 0x1f {
			other := imageOf(t, v1.Config{}, layerOf(t, upper...))
			layers, _ := other.Layers()
			replaced, _ := layers[0].Compressed()
			bytes, _ := io.ReadAll(replaced)
			if err := os.WriteFile(blob, bytes, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := newStore(t)
	for from, want := range map[string]string{
		"oci:/nowhere":                 "does not exist",
		"docker-archive:/nowhere":      "does not exist",
		"rootfs:/nowhere":              "does not exist",
		"frr":                          "nines image ls",
		"docker-archive:" + text:       "image docker-archive:",
		"rootfs:" + text:               "not a readable tar file",
		"rootfs:" + filepath.Dir(text): "packs a folder",
		"oci:" + damaged:               "damaged",
		"oci:" + layoutWith(t, map[string]v1.Image{"": foreign}):             "s390x",
		"oci:" + layoutWith(t, map[string]v1.Image{"a": good, "b": foreign}): "their names",
		"oci:" + layoutWith(t, map[string]v1.Image{"a": good}) + ":c":        `no image "c"; its images: "a"`,
	} {
		if _, err := s.Unpack(context.Background(), from); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", from, err, want)
		}
		left, _ := filepath.Glob(filepath.Join(s.Dir, unpackedFolder, "*"))
		if len(left) > 0 {
			t.Errorf("%s: left behind: %q", from, left)
		}
	}
}

func TestTheImagesUserIsLookedUpInTheImage(t *testing.T) {
	s := newStore(t)
	for user, want := range map[string]User{
		"":       {Home: "/root"},
		"web":    {UID: 33, GID: 44, Groups: []uint32{55}, Home: "/srv"},
		"33":     {UID: 33, GID: 44, Groups: []uint32{55}, Home: "/srv"},
		"7:8":    {UID: 7, GID: 8, Home: "/"},
		"web:55": {UID: 33, GID: 55, Home: "/srv"},
	} {
		u, err := s.Unpack(context.Background(), "oci:"+layoutWith(t, map[string]v1.Image{"": imageOf(t, v1.Config{User: user}, layerOf(t, lower...))}))
		if err != nil {
			t.Fatal(err)
		}
		got, err := u.User()
		if err != nil || got.UID != want.UID || got.GID != want.GID || !slices.Equal(got.Groups, want.Groups) {
			t.Errorf("%q: %+v, %v", user, got, err)
		}
	}
	u, err := s.Unpack(context.Background(), "oci:"+layoutWith(t, map[string]v1.Image{"": imageOf(t, v1.Config{User: "nobody-here"}, layerOf(t, lower...))}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.User(); err == nil || !strings.Contains(err.Error(), "nobody-here") {
		t.Errorf("an unknown user: %v", err)
	}
}

func TestTheCommandIsTheNodesOrTheImages(t *testing.T) {
	u := Unpacked{Config: v1.Config{Entrypoint: []string{"serve"}, Cmd: []string{"--all"}}}
	if got := strings.Join(u.Arguments(nil), " "); got != "serve --all" {
		t.Errorf("the image's: %s", got)
	}
	if got := strings.Join(u.Arguments([]string{"sleep", "1"}), " "); got != "sleep 1" {
		t.Errorf("the node's: %s", got)
	}
}
