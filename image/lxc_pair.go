package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"nines.dev/nines/exit"
)

// The two files of an image of LXC, as distrobuilder build-lxc makes them and lxc-create -t local takes
// them.
const (
	lxcMetadataFile = "meta.tar.xz"
	lxcRootFile     = "rootfs.tar.xz"
)

// lxcPair is a folder with the two files. The container's configuration in the metadata is LXC's own, and
// not used: a node's is the lab's.
type lxcPair struct {
	folder string
	// written is a layer with the files of the root file system that lxc-create rewrites.
	written []byte
}

// openLXC reads the metadata, and those files of the root file system that it lists as templates.
func openLXC(folder string) (*lxcPair, error) {
	metadata, err := filesIn(filepath.Join(folder, lxcMetadataFile), func(string) bool { return true })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", lxcMetadataFile, err)
	}
	config, found := relevant(metadata, "config")
	if !found {
		return nil, fmt.Errorf("%s has no file config, which LXC image metadata needs", lxcMetadataFile)
	}
	if machine := lxcMachines[lxcArchitecture(config)]; machine != "" && machine != runtime.GOARCH {
		return nil, fmt.Errorf("it is for %s, but this host is %s", machine, runtime.GOARCH)
	}
	templates, _ := relevant(metadata, "templates")
	var names []string
	for _, line := range strings.Fields(templates) {
		names = append(names, inArchive(line))
	}
	pair := &lxcPair{folder: folder}
	if len(names) == 0 {
		return pair, nil
	}
	files, err := filesIn(filepath.Join(folder, lxcRootFile), func(name string) bool { return slices.Contains(names, name) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", lxcRootFile, err)
	}
	pair.written, err = writtenAnew(files, filepath.Base(folder))
	return pair, err
}

// archived is a small file of an archive.
type archived struct {
	*tar.Header
	text string
}

// mostText is what the metadata's files, and those that it lists, may have: they are texts.
const mostText = 1 << 20

// filesIn reads the regular files of an archive that are wanted, by their names.
func filesIn(file string, wanted func(name string) bool) (map[string]archived, error) {
	text, err := openTar(file)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	files := map[string]archived{}
	archive := tar.NewReader(text)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		name := inArchive(header.Name)
		if header.Typeflag != tar.TypeReg || !wanted(name) {
			continue
		}
		if header.Size > mostText {
			return nil, exit.Wrongf("%s has %d bytes, but may have at most %d", name, header.Size, mostText)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		files[name] = archived{header, string(content)}
	}
}

// inArchive is a name of an archive in its shortest form: "./etc/hosts" and "/etc/hosts" are "etc/hosts".
func inArchive(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// relevant is the file of the metadata that lxc-create takes for a container that is root's: there may
// be others for other users, and for older versions of LXC (relevant_file in its template local).
func relevant(metadata map[string]archived, name string) (text string, found bool) {
	const rootUser, version = "-system", ".5"
	if _, is := metadata[name+rootUser]; is {
		name += rootUser
	}
	if _, is := metadata[name+version]; is {
		name += version
	}
	file, found := metadata[name]
	return file.text, found
}

// lxcMachines are the machines that LXC's names of architectures mean (lxc_config_parse_arch in its
// confile_utils.c). distrobuilder writes linux64, which any of 64 bits is.
var lxcMachines = map[string]string{
	"amd64": "amd64", "x86_64": "amd64", "arm64": "arm64", "aarch64": "arm64", "i386": "386", "i586": "386", "i686": "386", "x86": "386",
	"arm": "arm", "armel": "arm", "armhf": "arm", "armv7l": "arm", "ppc64le": "ppc64le", "ppc64el": "ppc64le", "riscv64": "riscv64", "s390x": "s390x",
}

// lxcArchitecture is the architecture in a container's configuration; empty if it names none.
func lxcArchitecture(config string) string {
	for line := range strings.Lines(config) {
		key, value, _ := strings.Cut(line, "=")
		if strings.TrimSpace(key) == "lxc.arch" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// writtenAnew is a layer of files in which lxc-create would write the container's name. A node's name is
// set when it starts; until then it is that of the image.
func writtenAnew(files map[string]archived, name string) ([]byte, error) {
	var layer bytes.Buffer
	archive := tar.NewWriter(&layer)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		file := files[path]
		text := strings.ReplaceAll(file.text, "LXC_NAME", name)
		if text == file.text {
			continue
		}
		header := *file.Header
		header.Name, header.Size, header.Format = path, int64(len(text)), tar.FormatPAX
		if err := archive.WriteHeader(&header); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if _, err := io.WriteString(archive, text); err != nil {
			return nil, err
		}
	}
	if layer.Len() == 0 {
		return nil, nil // no layer
	}
	err := archive.Close()
	return layer.Bytes(), err
}

func (p *lxcPair) root() string { return filepath.Join(p.folder, lxcRootFile) }

// source is the pair as an image that can be unpacked.
func (p *lxcPair) source() (*source, error) {
	s, err := openRootfs(p.root())
	if err != nil || len(p.written) == 0 {
		return s, err
	}
	sum := sha256.Sum256(append([]byte(s.digest), p.written...))
	s.digest = hex.EncodeToString(sum[:])
	s.layers = append(s.layers, part{open: p.openWritten})
	return s, nil
}

func (p *lxcPair) openWritten() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(p.written)), nil
}

// image is the pair as an image with a manifest.
func (p *lxcPair) image() (v1.Image, error) {
	img, err := ofRootfs(p.root(), v1.Config{})
	if err != nil || len(p.written) == 0 {
		return img, err
	}
	layer, err := tarball.LayerFromOpener(p.openWritten)
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(img, layer)
}
