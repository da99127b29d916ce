package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/spec"
	"nines.dev/nines/vm/guestimage"
)

// Store is a folder of images:
//
//	names/NAME.json            which image a name means
//	layouts/sha256-DIGEST/     a named image, in the OCI's image layout
//	unpacked/sha256-DIGEST/    an image that a node has used: its root file system and its configuration
//	disks/sha256-DIGEST/       an image that a virtual machine has used, as a disk
type Store struct {
	// Dir is created if needed.
	Dir string
	// Progress is called with a short text about what takes time; may be nil.
	Progress func(what string)
}

// DefaultDir is the folder of a user's images, below NINES_CACHE_DIR or /var/cache/nines.
func DefaultDir() string {
	return filepath.Join(filepath.Dir(guestimage.DefaultDir()), "images")
}

func (s Store) progress(format string, arguments ...any) {
	if s.Progress != nil {
		s.Progress(fmt.Sprintf(format, arguments...))
	}
}

// folder is a folder of the store, as one that is made whole or not at all.
func (s Store) folder(name string) guestimage.Store {
	return guestimage.Store{Dir: filepath.Join(s.Dir, name), Names: folderNames[name], Progress: s.Progress}
}

const (
	namesFolder    = "names"
	layoutsFolder  = "layouts"
	unpackedFolder = "unpacked"
	disksFolder    = "disks"
)

// folderNames match the names of what nines makes in the folders. What else is there is not nines'.
var folderNames = map[string]*regexp.Regexp{
	layoutsFolder:  regexp.MustCompile(`^sha256-[0-9a-f]{64}$`),
	unpackedFolder: regexp.MustCompile(`^sha256-[0-9a-f]{64}$`),
	disksFolder:    regexp.MustCompile(`^sha256-[0-9a-f]{64}$`),
	buildsFolder:   regexp.MustCompile(`^[0-9a-f]{32}$`),
}

func digestName(digest string) string { return "sha256-" + digest }

// Unpacked is an image as a root file system.
type Unpacked struct {
	// Digest is the image's, in hexadecimal.
	Digest string
	// Root is the folder of the root file system. Nobody may write there.
	Root string
	// Config says what runs in it.
	Config v1.Config
}

const (
	rootFolder = "rootfs"
	configFile = "config.json"
)

// find opens an image; a stored one by its name.
func (s Store) find(text string) (*source, error) {
	n, err := spec.ParseImage(text)
	if err != nil {
		return nil, exit.Wrongf("image: %w", err)
	}
	if n.Form != spec.ImageStored {
		if n, err = recognise(n); err != nil {
			return nil, err
		}
		return open(n)
	}
	entry, err := s.Named(n.Name)
	if err != nil {
		return nil, err
	}
	return s.kept(entry)
}

// kept opens an image of the store.
func (s Store) kept(entry Entry) (*source, error) {
	found, err := openLayout(s.layoutOf(entry.Digest), "")
	if err != nil {
		return nil, fmt.Errorf("image %s, kept in %s: %w; nines image rm %[1]s, and build or import it again", entry.Name, s.layoutOf(entry.Digest), err)
	}
	layout, err := sourceIn(spec.ImageName{Form: spec.ImageLayout, Path: s.layoutOf(entry.Digest)}, found)
	if err != nil {
		return nil, err
	}
	layout.bytes = max(layout.bytes, entry.FromBytes)
	return layout, nil
}

// Check checks that there is such an image, without unpacking it.
func (s Store) Check(text string) error {
	_, err := s.find(text)
	return err
}

// Digest is the digest of an image, in hexadecimal, without unpacking it.
func (s Store) Digest(text string) (string, error) {
	from, err := s.find(text)
	if err != nil {
		return "", err
	}
	return from.digest, nil
}

// Unpack unpacks an image, if the store does not have it unpacked.
func (s Store) Unpack(ctx context.Context, text string) (*Unpacked, error) {
	from, err := s.find(text)
	if err != nil {
		return nil, err
	}
	return s.unpackSource(ctx, from, text)
}

// UnpackEntry unpacks the image that a name meant, even if it means another now.
func (s Store) UnpackEntry(ctx context.Context, e Entry) (*Unpacked, error) {
	from, err := s.kept(e)
	if err != nil {
		return nil, err
	}
	return s.unpackSource(ctx, from, e.Name)
}

func (s Store) unpackSource(ctx context.Context, from *source, text string) (*Unpacked, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	dir, err := s.folder(unpackedFolder).Whole(ctx, digestName(from.digest), func(_ context.Context, dir string) error {
		s.progress("unpacking the image %s, once", text)
		if err := from.write(dir); err != nil {
			return fmt.Errorf("image %s: %w", text, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := ownedBySelf(dir); err != nil {
		return nil, err
	}
	return &Unpacked{Digest: from.digest, Root: filepath.Join(dir, rootFolder), Config: from.config}, nil
}

// diskFile is the disk in its folder.
const diskFile = "disk"

// Disk is a file with an ext4 file system of an unpacked image. Nobody may write there.
func (s Store) Disk(ctx context.Context, of *Unpacked) (string, error) {
	if err := s.begin(); err != nil {
		return "", err
	}
	dir, err := s.folder(disksFolder).Whole(ctx, digestName(of.Digest), func(ctx context.Context, dir string) error {
		s.progress("making a disk of the image sha256:%.12s, once", of.Digest)
		return guestimage.MakeDisk(ctx, filepath.Join(dir, diskFile), of.Root)
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, diskFile), nil
}

// ownedBySelf refuses to root what another user has unpacked: all of it belongs to that user. It looks
// at the folder around the root file system, whose own owner the image names.
func ownedBySelf(dir string) error {
	var info unix.Stat_t
	if err := unix.Lstat(dir, &info); err != nil {
		return &fs.PathError{Op: "lstat", Path: dir, Err: err}
	}
	if os.Geteuid() == 0 && info.Uid != 0 {
		return exit.Wrongf("%s was unpacked by user %d, so the owners of its files are wrong; nines image rm --unpacked removes it, then try again", dir, info.Uid)
	}
	return nil
}

// begin makes the folder. Others than its owner must not get at what is in it: images have programs
// that run with the rights of their owner, and device nodes.
func (s Store) begin() error {
	if err := os.MkdirAll(filepath.Dir(s.Dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(s.Dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.MkdirAll(filepath.Join(s.Dir, namesFolder), 0o700)
}

func (s Store) layoutOf(digest string) string {
	return filepath.Join(s.Dir, layoutsFolder, digestName(digest))
}

// Entry is a name in the store.
type Entry struct {
	Name string `json:"name"`
	// Digest is the image's, in hexadecimal; Bytes is what its compressed layers take.
	Digest string `json:"digest"`
	Bytes  int64  `json:"bytes"`
	// From says where it comes from; Recipe is the hash of what it was built from, empty for an import.
	From   string `json:"from"`
	Recipe string `json:"recipe,omitempty"`
	// FromBytes is the size of the files that it comes from. The store's may be much smaller, as it compresses
	// what was not compressed; what an image may grow to goes by these.
	FromBytes int64 `json:"from_bytes,omitempty"`
}

// Named reads what a name means.
func (s Store) Named(name string) (Entry, error) {
	entry, err := replace.Read[Entry](s.nameFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return entry, exit.Wrongf("image %q does not exist in %s; nines image ls lists the images, nines image build and import add more", name, s.Dir)
	}
	if err != nil {
		return entry, fmt.Errorf("read the image %q: %w; nines image rm removes it", name, err)
	}
	entry.Name = name
	return entry, nil
}

func (s Store) nameFile(name string) string {
	return filepath.Join(s.Dir, namesFolder, name+".json")
}
