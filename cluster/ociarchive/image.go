package ociarchive

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// Image is an image of one layer.
type Image struct {
	// Name is its whole name, "nines.local/pause:1".
	Name  string
	Files []File
	// Entrypoint is what its containers run, if nothing else is said, with Env.
	Entrypoint []string
	Env        []string
}

// nameKey is the annotation by which containerd names an image that it imports.
const nameKey = "io.containerd.image.name"

// Write writes the image's archive to a file.
func (i Image) Write(path string) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write the image %s: %w", i.Name, err)
	}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			err = fmt.Errorf("write the image %s: %w", i.Name, err)
		}
	}()
	return i.write(file)
}

// blob is a part of an image, kept under its digest.
type blob struct {
	v1.Descriptor
	text []byte
}

func newBlob(mediaType string, text []byte) blob {
	return blob{v1.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(text), Size: int64(len(text))}, text}
}

func jsonBlob(mediaType string, value any) (blob, error) {
	text, err := json.Marshal(value)
	return newBlob(mediaType, text), err
}

func (i Image) write(out io.Writer) error {
	files, err := layerOf(i.Files)
	if err != nil {
		return err
	}
	config, err := jsonBlob(v1.MediaTypeImageConfig, v1.Image{
		Platform: v1.Platform{Architecture: runtime.GOARCH, OS: "linux"},
		Config:   v1.ImageConfig{Entrypoint: i.Entrypoint, Env: i.Env},
		RootFS:   v1.RootFS{Type: "layers", DiffIDs: []digest.Digest{files.Digest}},
	})
	if err != nil {
		return err
	}
	manifest, err := jsonBlob(v1.MediaTypeImageManifest, v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: v1.MediaTypeImageManifest,
		Config:    config.Descriptor,
		Layers:    []v1.Descriptor{files},
	})
	if err != nil {
		return err
	}
	named := manifest.Descriptor
	named.Annotations = map[string]string{nameKey: i.Name}
	index, err := json.Marshal(v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Manifests: []v1.Descriptor{named}})
	if err != nil {
		return err
	}
	layout, err := json.Marshal(v1.ImageLayout{Version: v1.ImageLayoutVersion})
	if err != nil {
		return err
	}
	archive := tar.NewWriter(out)
	if err := archive.WriteHeader(fileHeader(blobPath(files), files.Size)); err != nil {
		return err
	}
	if err := writeLayer(archive, i.Files); err != nil { // which fails if a file has grown since
		return err
	}
	for _, b := range []blob{config, manifest} {
		if err := put(archive, blobPath(b.Descriptor), b.text); err != nil {
			return err
		}
	}
	if err := put(archive, v1.ImageIndexFile, index); err != nil {
		return err
	}
	if err := put(archive, v1.ImageLayoutFile, layout); err != nil {
		return err
	}
	return archive.Close()
}

func blobPath(d v1.Descriptor) string {
	return "blobs/" + string(d.Digest.Algorithm()) + "/" + d.Digest.Encoded()
}

func fileHeader(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644}
}

func put(archive *tar.Writer, name string, text []byte) error {
	err := archive.WriteHeader(fileHeader(name, int64(len(text))))
	if err == nil {
		_, err = archive.Write(text)
	}
	return err
}
