package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/folder"
	"nines.dev/nines/kernel/flock"
)

// Only one may tune a host at a time: a second one would take the first one's values for
// the host's own and restore those. So a tuner makes a symbolic link, claimName in the
// state folder, to the folder with its journal. Only one such link can exist; making and
// removing it are steps of that journal.
const claimName = "tuning"

// Claim reserves the host's settings for the owner of the journal in the folder holder
// below root, such as "labs/quickstart", as a step of the journal. If another has them, the
// error names it.
func Claim(j *journal.Journal, root, holder string) error {
	path := ClaimPath(root)
	// If two find that the holder is gone, the second must not remove the first one's
	// link.
	lock, err := flock.Folder(context.Background(), root)
	if err != nil {
		return fmt.Errorf("reserve the host's settings: %w", err)
	}
	defer func() { _ = lock.Free() }()
	for {
		other, err := os.Readlink(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("read the tuning record: %w", err)
		case other == holder:
			return nil // an earlier call made this step
		case orphaned(root, other):
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("free the host's settings, whose holder is gone: %w", err)
			}
			continue
		default:
			return held(root, other)
		}
		step := journal.Step{Kind: journal.KindSymlink, Path: path, Target: holder}
		err = j.Make(step, func() (journal.Learnt, error) { return journal.Learnt{}, os.Symlink(holder, path) })
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// ClaimPath is the link to the holder of the host's settings.
func ClaimPath(root string) string { return filepath.Join(root, claimName) }

// orphaned is true if the holder's journal is gone, or is of an earlier boot, so that the
// reboot has restored all settings.
func orphaned(root, holder string) bool {
	j, err := journal.Read(filepath.Join(root, holder, folder.JournalName))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, journal.ErrEmpty)
	}
	return !j.SinceBoot()
}

// held returns the error that another holds the host's settings.
func held(root, holder string) error {
	if lab, ok := strings.CutPrefix(holder, "labs/"); ok {
		return fmt.Errorf("lab %q holds this host's settings (its key tuning:); nines down %s restores them", lab, lab)
	}
	applied, _ := readApplied(filepath.Join(root, holder))
	return heldBy(applied)
}

// heldBy returns the error that nines tune apply holds the host's settings; applied is nil
// if its file has not been written yet.
func heldBy(applied *Applied) error {
	if applied == nil {
		return errors.New("a nines tune apply holds this host's settings; nines tune revert restores them")
	}
	return fmt.Errorf("nines tune apply holds this host's settings: profile %s, by %s (process %d) since %s; nines tune revert restores them",
		applied.Profile, applied.User, applied.PID, applied.Since.Format("2006-01-02 15:04:05"))
}

// Holder returns the holder of the host's settings: "tune", "labs/NAME", or empty for none.
func Holder(root string) (string, error) {
	holder, err := os.Readlink(ClaimPath(root))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read the tuning record: %w", err)
	case orphaned(root, holder):
		return "", nil
	}
	return holder, nil
}
