package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/spec"
	"nines.dev/nines/vm/guestimage"
)

// buildFormat increases when images are built differently.
const buildFormat = 2

// basicPackages are in every image of a release: tools that a user needs in a network node.
var basicPackages = []string{"ethtool", "iproute2", "iputils-ping", "procps", "tcpdump"}

// sshPackages are what ssh: true adds.
var sshPackages = []string{"openssh-server"}

// epochs are when the releases came out. What a build itself makes has this time, so that the day of
// the build is not in the image.
var epochs = map[string]time.Time{
	"bookworm": time.Date(2023, time.June, 10, 0, 0, 0, 0, time.UTC),
	"trixie":   time.Date(2025, time.August, 9, 0, 0, 0, 0, time.UTC),
}

// epochOf is the latest time of a file in an image of a recipe.
func epochOf(r spec.ImageRecipe) time.Time {
	if epoch, known := epochs[r.From]; known {
		return epoch
	}
	return epochs["trixie"]
}

// inputs is all that an image is made of, besides the packages that the mirror has. Its hash says
// whether the store has the image already.
type inputs struct {
	Format  int    `json:"format"`
	Release string `json:"release,omitempty"`
	Base    string `json:"base,omitempty"` // the digest of the image it begins with
	// Definition is the digest of the file of distrobuilder that it begins with.
	Definition string            `json:"definition,omitempty"`
	Packages   []string          `json:"packages"`
	Script     string            `json:"script,omitempty"` // the digest of its text
	Files      map[string]string `json:"files,omitempty"`  // the digests and modes, by target
	SSH        bool              `json:"ssh,omitempty"`
}

// inputsOf also opens the image that the recipe begins with, unless that is a release.
func (s Store) inputsOf(r spec.ImageRecipe) (in inputs, base *source, err error) {
	in = inputs{Format: buildFormat, Packages: Packages(r), SSH: r.SSH, Files: map[string]string{}}
	switch {
	case r.IsRelease():
		in.Release = r.From
	case r.Definition() != "":
		if in.Definition, err = digestOf(r.Definition()); err != nil {
			return in, nil, exit.Wrongf("distrobuilder's definition: %w", err)
		}
	default:
		if base, err = s.find(r.From); err != nil {
			return in, nil, err
		}
		in.Base = base.digest
	}
	if r.Script != "" {
		if in.Script, err = digestOf(r.Script); err != nil {
			return in, nil, exit.Wrongf("the image's script: %w", err)
		}
	}
	for _, file := range r.Files {
		if in.Files[file.Target], err = digestOf(file.Source); err != nil {
			return in, nil, exit.Wrongf("a file of the image: %w", err)
		}
	}
	return in, base, nil
}

// Packages are those that a build of a recipe installs, besides what they depend on.
func Packages(r spec.ImageRecipe) []string {
	list := slices.Clone(r.Packages)
	if r.IsRelease() {
		list = append(list, basicPackages...)
	}
	if r.SSH {
		list = append(list, sshPackages...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// digestOf is the digest of a regular file and its mode.
func digestOf(path string) (string, error) {
	file, info, err := openFile(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x %o", sum.Sum(nil), info.Mode().Perm()), nil
}

// openFile opens a regular file. It does not wait for one that is a pipe and that nobody writes to.
func openFile(path string) (*os.File, os.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &notFileError{path}
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// notFileError is for a path to a folder, a pipe or a device.
type notFileError struct{ path string }

func (e *notFileError) Error() string { return e.path + " is not a file" }

func (in inputs) key() string {
	text, _ := json.Marshal(in) // strings, numbers and a map of strings cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

const (
	buildsFolder = "builds"
	rootTar      = "rootfs.tar"
)

// Build builds an image and gives it a name, unless the name already means one built from the same
// inputs; again rebuilds it, with the packages that Debian has now.
func (s Store) Build(ctx context.Context, name string, r spec.ImageRecipe, again bool) (_ Entry, err error) {
	in, base, err := s.inputsOf(r)
	if err != nil {
		return Entry{}, err
	}
	key := in.key()
	if old, err := s.built(name); err != nil || old.Recipe == key && !again {
		return old, err
	}
	if err := needsRoot(); err != nil {
		return Entry{}, err
	}
	if err := s.begin(); err != nil {
		return Entry{}, err
	}
	dir := filepath.Join(s.Dir, buildsFolder, key[:32])
	lock, err := s.lockBuild(ctx, name, dir)
	if err != nil {
		return Entry{}, err
	}
	defer func() { err = errors.Join(err, lock.Remove()) }()
	// Another may have built it meanwhile; and one that was killed has left packages of its day.
	if old, err := s.built(name); err != nil || old.Recipe == key && !again {
		return old, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return Entry{}, err
	}
	s.progress("building the image %s from %s, once; this takes a minute or two", name, r.From)
	stop := s.showTime(name)
	defer stop()
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	_, err = s.folder(buildsFolder).Whole(ctx, filepath.Base(dir), func(ctx context.Context, dir string) error {
		return build(ctx, dir, r, base)
	})
	if err != nil {
		return Entry{}, err
	}
	config := v1.Config{Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}}
	if base != nil {
		config = base.config
	}
	img, err := ofRootfs(filepath.Join(dir, rootTar), config)
	if err != nil {
		return Entry{}, err
	}
	info, err := os.Stat(filepath.Join(dir, rootTar))
	if err != nil {
		return Entry{}, err
	}
	return s.keep(ctx, img, Entry{Name: name, From: r.From, Recipe: key, FromBytes: info.Size()})
}

// Built is what the name of a recipe means, and true if a build of the recipe would leave it so.
func (s Store) Built(name string, r spec.ImageRecipe) (Entry, bool, error) {
	in, _, err := s.inputsOf(r)
	if err != nil {
		return Entry{}, false, err
	}
	entry, err := s.built(name)
	return entry, err == nil && entry.Recipe == in.key(), err
}

// needsRoot is for what writes or reads the owners of an image's files.
func needsRoot() error {
	if os.Geteuid() == 0 {
		return nil
	}
	return &exit.MissingError{Capability: "root", Reason: "an image has files of many users", Remedy: "run it with sudo"}
}

// built is what a name of a recipe means; an empty one if it means nothing yet.
func (s Store) built(name string) (Entry, error) {
	old, err := s.Named(name)
	if err != nil { // without the name, or unreadable: it is rewritten
		return Entry{}, nil
	}
	if old.Recipe == "" {
		return Entry{}, exit.Wrongf("the image %q was imported from %s, and would be replaced; remove it with nines image rm %[1]s, or give the recipe another name", name, old.From)
	}
	return old, nil
}

// buildLock is the suffix of the lock of a whole build, from the look at the store to the name.
const buildLock = ".build"

func (s Store) lockBuild(ctx context.Context, name, dir string) (*flock.Lock, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	lock, err := flock.Try(dir + buildLock)
	if errors.As(err, new(*flock.HeldError)) {
		s.progress("waiting until the image %s is built", name)
		lock, err = flock.Wait(ctx, dir+buildLock)
	}
	return lock, err
}

// pruneBuilds removes what killed builds have left.
func (s Store) pruneBuilds() error {
	own, left, err := s.own(buildsFolder)
	if own == nil {
		return err
	}
	defer own.Close()
	for _, entry := range left {
		name, _, _ := strings.Cut(entry.Name(), ".")
		if !folderNames[buildsFolder].MatchString(name) {
			continue
		}
		lock, err := flock.Try(filepath.Join(s.Dir, buildsFolder, name) + buildLock)
		if errors.As(err, new(*flock.HeldError)) {
			continue
		}
		if err == nil {
			err = errors.Join(own.RemoveAll(name), own.RemoveAll(name+".unfinished"), lock.Remove())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// showTime says from time to time that the build goes on.
func (s Store) showTime(name string) (stop func()) {
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(10 * time.Second)
		defer ticker.Stop()
		for began := time.Now(); ; {
			select {
			case <-done:
				return
			case now := <-ticker.C:
				s.progress("building the image %s: %d s so far", name, int(now.Sub(began).Seconds()))
			}
		}
	}()
	return func() { close(done) }
}

// build makes the root file system in a folder, and of it the file rootTar.
func build(ctx context.Context, dir string, r spec.ImageRecipe, base *source) error {
	tree, err := begin(ctx, dir, r, base)
	if err != nil {
		return err
	}
	b := building{tree: tree, epoch: epochOf(r)}
	if !r.IsRelease() && len(Packages(r)) > 0 {
		if err := b.install(ctx, Packages(r)); err != nil {
			return err
		}
	}
	for _, file := range r.Files {
		if err := b.copyFile(file.Source, file.Target); err != nil {
			return fmt.Errorf("copy %s: %w", file.Source, err)
		}
	}
	if r.Script != "" {
		if err := b.runScript(ctx, r.Script); err != nil {
			return err
		}
	}
	if err := b.clean(r.SSH); err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(dir, rootTar), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(writeTar(ctx, out, tree, b.epoch), out.Close())
	return errors.Join(err, os.RemoveAll(tree))
}

// begin makes the tree that the recipe begins with.
func begin(ctx context.Context, dir string, r spec.ImageRecipe, base *source) (tree string, err error) {
	if r.Definition() != "" {
		return buildDefinition(ctx, dir, r.Definition())
	}
	if base == nil {
		return guestimage.Bootstrap(ctx, dir, r.From, Packages(r), epochOf(r))
	}
	tree = filepath.Join(dir, rootFolder)
	if err := os.Mkdir(tree, 0o755); err != nil {
		return "", err
	}
	return tree, base.unpack(tree)
}
