package image

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/spec"
)

// Import takes an image into the store under a name. An existing name gets the new image only with
// again.
func (s Store) Import(ctx context.Context, from spec.ImageName, name string, again bool) (Entry, error) {
	if err := s.free(name, again); err != nil {
		return Entry{}, err
	}
	s.progress("reading %s", from)
	from, err := recognise(from)
	if err != nil {
		return Entry{}, err
	}
	img, err := read(from)
	if err != nil {
		return Entry{}, err
	}
	size, err := bytesOf(from, img)
	if err != nil {
		return Entry{}, err
	}
	if err := s.tryOut(ctx, img, from, size); err != nil {
		return Entry{}, err
	}
	return s.keep(ctx, img, Entry{Name: name, From: from.String(), FromBytes: size})
}

// tryOut refuses an image that cannot be unpacked. The unpacked copy is kept for the first node that uses
// it. Without root its files would have a wrong owner, so there it only happens at that use.
func (s Store) tryOut(ctx context.Context, img v1.Image, from spec.ImageName, size int64) error {
	if os.Geteuid() != 0 {
		return nil
	}
	found, err := sourceOf(img)
	if err != nil {
		return exit.Wrongf("image %s: %w", from, err)
	}
	found.bytes = size
	_, err = s.unpackSource(ctx, found, from.String())
	return err
}

// free checks a name that gets an image.
func (s Store) free(name string, again bool) error {
	parsed, err := spec.ParseImage(name)
	if err != nil || parsed.Form != spec.ImageStored {
		return exit.Wrongf("%q cannot be an image's name; use lower-case letters, digits and '-', at most 32", name)
	}
	old, err := s.Named(name)
	if err == nil && !again {
		return exit.Wrongf("image %q already exists, from %s; remove it with nines image rm %[1]s, or replace it with --replace", name, old.From)
	}
	return nil
}

// read opens an image that is not in the store, as one with a manifest.
func read(n spec.ImageName) (img v1.Image, err error) {
	switch n.Form {
	case spec.ImageLayout:
		img, err = openLayout(n.Path, n.Name)
	case spec.ImageArchive:
		img, err = openArchive(n.Path, n.Name)
	case spec.ImageRootfs:
		img, err = ofRootfs(n.Path, v1.Config{})
	case spec.ImageLXC:
		var pair *lxcPair
		if pair, err = openLXC(n.Path); err == nil {
			img, err = pair.image()
		}
	case spec.ImageIncus:
		var incus *incusImage
		if incus, err = openIncus(n.Path); err == nil {
			img, err = incus.image()
		}
	case spec.ImageReference:
		err = errors.New("it is in a registry; nines cannot import from one")
	case spec.ImageStored, spec.ImagePath: // a path was recognised before
		err = errors.New("it is already in the store")
	}
	if err == nil {
		_, err = sourceOf(img) // that it can be used here
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, exit.Wrongf("image %s does not exist: %w", n, err)
	}
	if err != nil {
		return nil, exit.Wrongf("image %s: %w", n, err)
	}
	return img, nil
}

// ofRootfs makes an image of one layer of a root file system. It has no time of its own: the same
// file gives the same image.
func ofRootfs(path string, config v1.Config) (v1.Image, error) {
	if _, err := openRootfs(path); err != nil { // that it is a file
		return nil, err
	}
	return ofTree(func() (io.ReadCloser, error) { return openTar(path) }, config)
}

func ofTree(open func() (io.ReadCloser, error), config v1.Config) (v1.Image, error) {
	layer, err := tarball.LayerFromOpener(open)
	if err != nil {
		return nil, err
	}
	return with(layer, config)
}

func with(layer v1.Layer, config v1.Config) (v1.Image, error) {
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH, Config: config})
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(img, layer)
}

// keep writes an image into the store, and then its name.
func (s Store) keep(ctx context.Context, img v1.Image, entry Entry) (Entry, error) {
	if err := s.begin(); err != nil {
		return Entry{}, err
	}
	digest, err := img.Digest()
	if err != nil {
		return Entry{}, exit.Wrongf("image %s: %w", entry.From, err)
	}
	layers, err := img.Layers()
	if err != nil {
		return Entry{}, err
	}
	for _, l := range layers {
		size, err := l.Size()
		if err != nil {
			return Entry{}, err
		}
		entry.Bytes += size
	}
	entry.Digest = digest.Hex
	for {
		dir, err := s.folder(layoutsFolder).Whole(ctx, digestName(digest.Hex), func(_ context.Context, dir string) error {
			s.progress("writing the image %s", entry.Name)
			return writeLayout(dir, img, entry.Name)
		})
		if err != nil {
			return Entry{}, err
		}
		if err := replace.JSON(s.nameFile(entry.Name), entry, 0o600); err != nil {
			return Entry{}, err
		}
		// Nobody removes what has a name, but just before it one may have.
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			return entry, err
		}
	}
}

// writeLayout writes an image as the only one of a layout.
func writeLayout(dir string, img v1.Image, name string) error {
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendImage(img, layout.WithAnnotations(map[string]string{refName: name}))
}
