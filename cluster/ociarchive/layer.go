package ociarchive

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// File is a file of an image: one of the host's, or a link.
type File struct {
	// Path is the file's in the image, such as "bin/sh".
	Path string
	// Source is the host's file, whose mode is kept; empty for a link or a folder.
	Source string
	// Link is what a symbolic link leads to.
	Link string
}

// layerOf is the descriptor of the files' layer. The layer is written twice, first to here, as it is too large for
// memory: some hundred megabytes.
func layerOf(files []File) (v1.Descriptor, error) {
	digester, size := digest.Canonical.Digester(), counter(0)
	err := writeLayer(io.MultiWriter(digester.Hash(), &size), files)
	return v1.Descriptor{MediaType: v1.MediaTypeImageLayer, Digest: digester.Digest(), Size: int64(size)}, err
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(text []byte) (int, error) {
	*c += counter(len(text))
	return len(text), nil
}

// writeLayer writes the files as an archive of one layer, with the folders that they are in.
func writeLayer(out io.Writer, files []File) error {
	archive := tar.NewWriter(out)
	made := map[string]bool{}
	for _, file := range files {
		if err := writeFolders(archive, made, path.Dir(file.Path)); err != nil {
			return err
		}
		if err := writeFile(archive, file); err != nil {
			return fmt.Errorf("put %s into an image: %w", file.Path, err)
		}
	}
	return archive.Close()
}

func writeFolders(archive *tar.Writer, made map[string]bool, folder string) error {
	var missing []string
	for ; folder != "." && folder != "/" && !made[folder]; folder = path.Dir(folder) {
		missing = append(missing, folder)
		made[folder] = true
	}
	slices.Reverse(missing)
	for _, name := range missing {
		mode := int64(0o755)
		if name == "tmp" {
			mode = 0o1777
		}
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode}); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(archive *tar.Writer, file File) error {
	switch {
	case file.Link != "":
		return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: file.Path, Linkname: file.Link, Mode: 0o777})
	case file.Source == "":
		if !strings.HasSuffix(file.Path, "/") {
			return fmt.Errorf("it has no source and no link, and is not a folder")
		}
		return nil // writeFolders has made it
	}
	source, err := os.Open(file.Source)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	// No time and no owner: they are the host's.
	header := &tar.Header{Typeflag: tar.TypeReg, Name: file.Path, Size: info.Size(), Mode: int64(info.Mode().Perm())}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, source)
	return err
}
