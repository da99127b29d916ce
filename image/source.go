package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
)

// source is an image that can be unpacked.
type source struct {
	// digest is in hexadecimal: that of the manifest, or of the file of a root file system.
	digest string
	config v1.Config
	layers []part
	// bytes is the size of its files, which limits what it may grow to.
	bytes int64
}

// part is one layer of a source.
type part struct {
	// open gives the layer as a plain tar file.
	open func() (io.ReadCloser, error)
	// digest of the plain tar file; empty where nothing tells it.
	digest string
}

// refName is the annotation that names one of several images of a layout.
const refName = "org.opencontainers.image.ref.name"

// open opens an image that is not in the store; it reads the image's description only.
func open(n spec.ImageName) (*source, error) {
	s, err := openForm(n)
	if err == nil {
		return s, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Wrongf("image %s does not exist: %w", n, err)
	}
	return nil, exit.Wrongf("image %s: %w", n, err)
}

func openForm(n spec.ImageName) (*source, error) {
	switch n.Form {
	case spec.ImageLayout:
		found, err := openLayout(n.Path, n.Name)
		if err != nil {
			return nil, err
		}
		return sourceIn(n, found)
	case spec.ImageArchive:
		found, err := openArchive(n.Path, n.Name)
		if err != nil {
			return nil, err
		}
		return sourceIn(n, found)
	case spec.ImageRootfs:
		return openRootfs(n.Path)
	case spec.ImageLXC:
		found, err := openLXC(n.Path)
		if err != nil {
			return nil, err
		}
		return found.source()
	case spec.ImageIncus:
		found, err := openIncus(n.Path)
		if err != nil {
			return nil, err
		}
		return found.source()
	case spec.ImageReference:
		return nil, errors.New("it is in a registry, which only drivers of oci nodes can reach")
	case spec.ImageStored, spec.ImagePath: // a path was recognised before
	}
	return nil, errors.New("it is a name in the store")
}

// openLayout opens the image of a layout that runs on this host.
func openLayout(folder, wanted string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	return choose(index, wanted)
}

// choose finds an image in an index, in which others for other machines may be.
func choose(index v1.ImageIndex, wanted string) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var names, platforms []string
	var fitting []v1.Descriptor
	for _, d := range manifest.Manifests {
		if called := d.Annotations[refName]; called != "" {
			names = append(names, called)
		}
		if wanted != "" && d.Annotations[refName] != wanted {
			continue
		}
		if p := d.Platform; p != nil && (p.OS != "linux" || p.Architecture != runtime.GOARCH) {
			platforms = append(platforms, p.OS+"/"+p.Architecture)
			continue
		}
		fitting = append(fitting, d)
	}
	switch {
	case len(fitting) == 0 && len(platforms) > 0:
		return nil, fmt.Errorf("it has images only for %s, but this host is linux/%s", strings.Join(slices.Compact(platforms), ", "), runtime.GOARCH)
	case len(fitting) == 0 && wanted != "":
		return nil, fmt.Errorf("it has no image %q; its images: %s", wanted, listed(names))
	case len(fitting) == 0:
		return nil, errors.New("it has no image")
	case len(fitting) > 1:
		return nil, fmt.Errorf("it has several images; add a colon and one of their names: %s", listed(names))
	}
	if fitting[0].MediaType.IsIndex() {
		inner, err := index.ImageIndex(fitting[0].Digest)
		if err != nil {
			return nil, err
		}
		return choose(inner, "")
	}
	return index.Image(fitting[0].Digest)
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none with a name"
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = printable(name)
	}
	return strings.Join(quoted, ", ")
}

func openArchive(path, wanted string) (v1.Image, error) {
	if wanted == "" {
		return tarball.ImageFromPath(path, nil)
	}
	tag, err := name.NewTag(wanted)
	if err != nil {
		return nil, err
	}
	return tarball.ImageFromPath(path, &tag)
}

// sourceIn is sourceOf with the size of the image's files.
func sourceIn(n spec.ImageName, found v1.Image) (*source, error) {
	s, err := sourceOf(found)
	if err == nil {
		s.bytes, err = bytesOf(n, found)
	}
	return s, err
}

// sourceOf describes an image with a manifest.
func sourceOf(found v1.Image) (*source, error) {
	s, err := undigested(found)
	if err != nil {
		return nil, err
	}
	digest, err := found.Digest()
	s.digest = digest.Hex
	return s, err
}

// undigested describes an image but for its digest.
func undigested(found v1.Image) (*source, error) {
	config, err := found.ConfigFile()
	if err != nil {
		return nil, err
	}
	if config.Architecture != "" && config.Architecture != runtime.GOARCH {
		return nil, fmt.Errorf("it is for %s, but this host is %s", config.Architecture, runtime.GOARCH)
	}
	layers, err := found.Layers()
	if err != nil {
		return nil, err
	}
	if len(layers) != len(config.RootFS.DiffIDs) {
		return nil, fmt.Errorf("it has %d layers, and its configuration names %d", len(layers), len(config.RootFS.DiffIDs))
	}
	s := &source{config: config.Config}
	for i, l := range layers {
		// The layer's own DiffID may be computed of what is there, and would always match.
		s.layers = append(s.layers, part{open: func() (io.ReadCloser, error) { return openLayer(l) }, digest: config.RootFS.DiffIDs[i].Hex})
	}
	return s, nil
}

// openRootfs reads the whole file, for its digest.
func openRootfs(path string) (*source, error) {
	file, info, err := openFile(path)
	if errors.As(err, new(*notFileError)) {
		return nil, fmt.Errorf("%w; tar -C %s --numeric-owner -cf FILE . packs a folder", err, path)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return nil, err
	}
	return &source{
		digest: hex.EncodeToString(sum.Sum(nil)),
		layers: []part{{open: func() (io.ReadCloser, error) { return openTar(path) }}},
		bytes:  info.Size(),
	}, nil
}

// unpack makes the image's root file system in an empty folder.
func (s *source) unpack(folder string) error {
	g := growthOf(s.bytes)
	for i, p := range s.layers {
		if err := p.apply(folder, g); err != nil {
			return fmt.Errorf("layer %d of %d: %w", i+1, len(s.layers), err)
		}
	}
	return nil
}

// write unpacks the image into an empty folder: its root file system, and what runs in it.
func (s *source) write(dir string) error {
	root := filepath.Join(dir, rootFolder)
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	if err := s.unpack(root); err != nil {
		return err
	}
	config, err := json.Marshal(s.config)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, configFile), config, 0o644)
}

func (p part) apply(folder string, g *growth) error {
	text, err := p.open()
	if err != nil {
		return err
	}
	defer text.Close()
	sum := sha256.New()
	checked := io.TeeReader(text, sum)
	if err := applyLayer(folder, checked, g); err != nil {
		return err
	}
	// What follows the archive's end counts too.
	if _, err := io.Copy(io.Discard, g.reader(checked)); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); p.digest != "" && got != p.digest {
		return exit.Wrongf("its digest is %s, and the image's configuration says %s: the image is damaged; get it again", got, p.digest)
	}
	return text.Close()
}
