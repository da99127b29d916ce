package image

import (
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
)

// An image of Debian's packages grows to three or four times the size of its files. One that grows to much
// more was made to fill the disk, or holds next to nothing.
const (
	mostGrowth = 100
	// freeGrowth is what any image may grow to, however small its files are.
	freeGrowth = 1 << 30
)

// growth counts what an image grows to while it is unpacked.
type growth struct {
	most, read, written int64
}

// growthOf is that of an image whose files have this many bytes together.
func growthOf(files int64) *growth { return &growth{most: max(freeGrowth, mostGrowth*files)} }

func (g *growth) check(grown int64) error {
	if grown <= g.most {
		return nil
	}
	return exit.Wrongf("it grows to more than %d MiB, %d times the size of its files; to import it anyway, give it uncompressed and without sparse files: decompress a root file system with gzip, xz or zstd -d, "+
		"load an image of layers into podman, and save it as docker-archive", g.most>>20, mostGrowth)
}

// reader counts what is decompressed: headers of files take room, too.
func (g *growth) reader(text io.Reader) io.Reader { return &growing{text, g} }

type growing struct {
	io.Reader
	growth *growth
}

func (r *growing) Read(into []byte) (int, error) {
	n, err := r.Reader.Read(into)
	r.growth.read += int64(n)
	if over := r.growth.check(r.growth.read); over != nil {
		return 0, over
	}
	return n, err
}

// write counts a file before it is written: a sparse one is larger than what the archive has of it.
func (g *growth) write(size int64) error {
	g.written += min(size, g.most+1) // so that no sum overflows
	return g.check(g.written)
}

// bytesOf is the size of an image's files where they are; what its manifest says of them may be wrong.
func bytesOf(n spec.ImageName, found v1.Image) (int64, error) {
	if n.Form == spec.ImageLayout {
		return layoutBytes(n.Path, found)
	}
	path := n.Path
	switch n.Form {
	case spec.ImageLXC:
		path = filepath.Join(path, lxcRootFile)
	case spec.ImageIncus:
		incus, err := incusFiles(path)
		if err != nil {
			return 0, err
		}
		path = incus.root
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func layoutBytes(folder string, found v1.Image) (int64, error) {
	layers, err := found.Layers()
	if err != nil {
		return 0, err
	}
	sizes := map[v1.Hash]int64{} // one that is there several times has one file
	for _, l := range layers {
		digest, err := l.Digest()
		if err != nil {
			return 0, err
		}
		info, err := os.Lstat(filepath.Join(folder, "blobs", digest.Algorithm, digest.Hex))
		if err != nil {
			return 0, err
		}
		sizes[digest] = info.Size()
	}
	var sum int64
	for _, size := range sizes {
		sum += size
	}
	return sum, nil
}
