package ociarchive

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// unpack reads an archive into a map of its files' contents.
func unpack(t *testing.T, text []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	archive := tar.NewReader(bytes.NewReader(text))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeSymlink {
			content = []byte("-> " + header.Linkname)
		}
		files[header.Name] = content
	}
}

func testImage(t *testing.T) Image {
	t.Helper()
	source := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(source, []byte("#!"), 0o755); err != nil {
		t.Fatal(err)
	}
	return Image{Name: "nines.local/test:1", Entrypoint: []string{"/bin/program"}, Files: []File{
		{Path: "bin/program", Source: source}, {Path: "bin/other", Link: "program"}, {Path: "tmp/"},
	}}
}

// TestEveryPartIsUnderItsDigest follows the archive as a runtime does: index, manifest, layer.
func TestEveryPartIsUnderItsDigest(t *testing.T) {
	var out bytes.Buffer
	if err := testImage(t).write(&out); err != nil {
		t.Fatal(err)
	}
	files := unpack(t, out.Bytes())
	read := func(d v1.Descriptor, value any) []byte {
		t.Helper()
		text := files["blobs/sha256/"+d.Digest.Encoded()]
		if digest.FromBytes(text) != d.Digest || int64(len(text)) != d.Size {
			t.Fatalf("%s %s is %d bytes of another digest", d.MediaType, d.Digest, len(text))
		}
		if value != nil {
			if err := json.Unmarshal(text, value); err != nil {
				t.Fatal(err)
			}
		}
		return text
	}
	var index v1.Index
	if err := json.Unmarshal(files["index.json"], &index); err != nil || len(index.Manifests) != 1 {
		t.Fatalf("%s: %v", files["index.json"], err)
	}
	if name := index.Manifests[0].Annotations[nameKey]; name != "nines.local/test:1" {
		t.Errorf("it is named %q", name)
	}
	var manifest v1.Manifest
	read(index.Manifests[0], &manifest)
	var config v1.Image
	read(manifest.Config, &config)
	if len(config.Config.Entrypoint) != 1 || config.Config.Entrypoint[0] != "/bin/program" {
		t.Errorf("it runs %q", config.Config.Entrypoint)
	}
	layer := read(manifest.Layers[0], nil)
	if config.RootFS.DiffIDs[0] != digest.FromBytes(layer) {
		t.Error("the configuration names another layer")
	}
	inside := unpack(t, layer)
	if string(inside["bin/program"]) != "#!" || string(inside["bin/other"]) != "-> program" || inside["bin/"] == nil && len(inside) != 4 {
		t.Errorf("the layer has %q", inside)
	}
	if _, there := inside["tmp/"]; !there {
		t.Errorf("there is no folder for temporary files: %q", inside)
	}
}

func TestTheSameFilesGiveTheSameArchive(t *testing.T) {
	image := testImage(t)
	var first, second bytes.Buffer
	if err := errors.Join(image.write(&first), image.write(&second)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("they differ")
	}
}

func TestAnAbsentFileIsNamed(t *testing.T) {
	image := Image{Name: "nines.local/test:1", Files: []File{{Path: "bin/program", Source: "/nowhere/program"}}}
	err := image.Write(filepath.Join(t.TempDir(), "image.tar"))
	if err == nil || !strings.Contains(err.Error(), "bin/program") || !strings.Contains(err.Error(), "nines.local/test:1") {
		t.Errorf("%v", err)
	}
}
