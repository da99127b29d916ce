package guestimage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/flock"
)

// Store is a folder of images.
type Store struct {
	// Dir is created if needed.
	Dir string
	// Names match the names of its folders; nil are those of kernels, their headers and root file systems.
	// What else is in Dir is not the store's.
	Names *regexp.Regexp
	// Guest is the path of the program nines-guest.
	Guest string
	// Progress is called with a short text about what takes time; may be nil.
	Progress func(what string)
}

// DefaultDir is the folder of a user's images, below NINES_CACHE_DIR or /var/cache/nines.
func DefaultDir() string {
	dir := os.Getenv("NINES_CACHE_DIR")
	if dir == "" {
		dir = "/var/cache/nines"
	}
	return filepath.Join(dir, "machines")
}

func (s Store) progress(format string, arguments ...any) {
	if s.Progress != nil {
		s.Progress(fmt.Sprintf(format, arguments...))
	}
}

// machineNames end in the key of a recipe.
var machineNames = regexp.MustCompile(`^(root|kernel|headers)-[a-z0-9-]+-[0-9a-f]{8}$`)

func (s Store) owns(name string) bool {
	if s.Names != nil {
		return s.Names.MatchString(name)
	}
	return machineNames.MatchString(name)
}

// Leaving is the suffix of folders that are still whole, and are to be removed unless something uses them.
const Leaving = ".leaving"

// unfinished is the suffix of folders that are being made.
const unfinished = ".unfinished"

// recipe is the input of an image. The folder's name contains its hash, so that another
// recipe makes another image.
type recipe struct {
	// Format increases when the code makes something else from the same packages.
	Format   int      `json:"format"`
	Release  string   `json:"release"`
	Packages []string `json:"packages"`
}

func (r recipe) key() string {
	text, _ := json.Marshal(r) // strings and a number cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}

// folder is the folder with a recipe's result, made if needed.
func (s Store) folder(ctx context.Context, name string, r recipe, build func(ctx context.Context, dir string) error) (string, error) {
	return s.Whole(ctx, name+"-"+r.key(), build)
}

// Whole is the folder with a name, which build makes if the store does not have it: another process
// sees all of it, or nothing.
func (s Store) Whole(ctx context.Context, name string, build func(ctx context.Context, dir string) error) (string, error) {
	done := filepath.Join(s.Dir, name)
	if _, err := os.Stat(done); err == nil {
		return done, nil
	}
	unlock, err := s.lock(ctx, done)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(done); err == nil { // another process was faster
		return done, nil
	}
	// A removal that was killed before it knew whether something uses the folder has left it whole.
	if err := os.Rename(done+Leaving, done); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return done, err
	}
	dir := done + unfinished
	if err := errors.Join(os.RemoveAll(dir), s.removeAbandoned()); err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	if err := build(ctx, dir); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", errors.Join(fmt.Errorf("make the image %s: %w", name, err), os.RemoveAll(dir))
	}
	if err := SyncTree(dir); err != nil {
		return "", err
	}
	return done, os.Rename(dir, done)
}

// lockSuffix is the suffix of an image's lock file while it is made. Images of different
// recipes are made at the same time, because most of the time goes to downloads.
const lockSuffix = ".lock"

// lock waits until no other process makes the image of this folder.
func (s Store) lock(ctx context.Context, folder string) (unlock func(), err error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, err
	}
	path := folder + lockSuffix
	lock, err := flock.Try(path)
	if errors.As(err, new(*flock.HeldError)) {
		s.progress("waiting until %s is made", filepath.Base(folder))
		lock, err = flock.Wait(ctx, path)
	}
	switch {
	case err == nil:
		return func() { _ = lock.Remove() }, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// removeAbandoned removes what killed builds left: unfinished folders without a lock.
func (s Store) removeAbandoned() error {
	own, err := Own(s.Dir)
	if exit.Code(err) == exit.Wrong {
		return nil // what is there may be another's, and images can be made beside it
	}
	if err != nil {
		return err
	}
	defer own.Close()
	left, err := fs.ReadDir(own.FS(), ".")
	if err != nil {
		return err
	}
	for _, entry := range left {
		name, found := strings.CutSuffix(entry.Name(), unfinished)
		if !found || !entry.IsDir() || !s.owns(name) {
			continue
		}
		lock, err := flock.Try(filepath.Join(s.Dir, name) + lockSuffix)
		if errors.As(err, new(*flock.HeldError)) {
			continue
		}
		if err == nil {
			err = errors.Join(own.RemoveAll(entry.Name()), lock.Remove())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SyncTree syncs a tree to disk: a store or a cache outlives a reboot, unlike the journal, and a
// half-written one must not look complete after a power failure.
func SyncTree(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// hash is a short hash of a file's content.
func hash(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:4]), nil
}

// lines are a text's lines that are not empty, trimmed.
func lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}
