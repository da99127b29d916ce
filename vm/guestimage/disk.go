package guestimage

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// MakeDisk makes a file with ext4 that holds a folder's content, with owners, and has free
// space for a few more files.
func MakeDisk(ctx context.Context, file, folder string) error {
	var bytes, entries int64
	err := filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		entries++
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			bytes += (info.Size() + 4095) &^ 4095
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Tables and folders take space too; in a sparse file too much of it does no harm.
	mib := bytes>>20 + bytes>>23 + entries>>9 + 64
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		return err
	}
	// No journal and no reserve: the disk is discarded, or never written. Nothing is
	// initialised lazily, which would write in the guest's background.
	_, err = run(ctx, "/", "mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-N", fmt.Sprint(entries+4096),
		"-E", "lazy_itable_init=0,nodiscard", "-d", folder, file, fmt.Sprintf("%dM", mib))
	return err
}

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
