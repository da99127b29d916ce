package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/flock"
)

// Store is a folder of images.
type Store struct {
	// Dir is made if it is not there.
	Dir string
	// Guest is the file of the program nines-guest.
	Guest string
	// Progress is told, in a few words, what takes time; nil tells nobody.
	Progress func(what string)
}

// DefaultDir is where a user's images are: below NINES_CACHE_DIR, or /var/cache/nines.
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

// unfinished ends the names of folders that are being made.
const unfinished = ".unfinished"

// recipe is what an image is made of. Its hash is in the folder's name, so that another
// recipe makes another image.
type recipe struct {
	// Format is raised when the code makes something else of the same packages.
	Format   int      `json:"format"`
	Release  string   `json:"release"`
	Packages []string `json:"packages"`
}

func (r recipe) key() string {
	text, _ := json.Marshal(r) // strings and a number do not fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}

// folder is the folder of what a recipe makes, made if it is not there.
func (s Store) folder(ctx context.Context, name string, r recipe, build func(ctx context.Context, dir string) error) (string, error) {
	done := filepath.Join(s.Dir, name+"-"+r.key())
	if _, err := os.Stat(done); err == nil {
		return done, nil
	}
	unlock, err := s.lock(ctx, done)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(done); err == nil { // another was quicker
		return done, nil
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
	if err := syncTree(dir); err != nil {
		return "", err
	}
	return done, os.Rename(dir, done)
}

// lockSuffix ends the names of the files by which an image is locked while it is made:
// images of different recipes are made side by side, as most of the time goes to downloads.
const lockSuffix = ".lock"

// lock waits until nobody else makes the image of this folder.
func (s Store) lock(ctx context.Context, folder string) (unlock func(), err error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, err
	}
	path := folder + lockSuffix
	lock, err := flock.Try(path)
	if errors.As(err, new(*flock.HeldError)) {
		s.progress("waiting for another process or test that makes %s", folder)
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

// removeAbandoned removes what killed builds left: unfinished folders that nobody locks.
func (s Store) removeAbandoned() error {
	left, _ := filepath.Glob(filepath.Join(s.Dir, "*"+unfinished))
	for _, dir := range left {
		path := strings.TrimSuffix(dir, unfinished) + lockSuffix
		lock, err := flock.Try(path)
		if errors.As(err, new(*flock.HeldError)) {
			continue
		}
		if err == nil {
			err = errors.Join(os.RemoveAll(dir), lock.Remove())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// syncTree writes a tree to the disk: the store outlives a reboot, and a half-written
// image must not look whole after a power cut.
func syncTree(dir string) error {
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

// hash is a short name for a file's content.
func hash(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:4]), nil
}

// words are the fields of the lines of a file, without comments.
func lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}
