package guestimage

import (
	"fmt"
	"io"
	"os"

	"github.com/u-root/u-root/pkg/cpio"
)

// File is a file of an initramfs.
type File struct {
	// Name is its path in the initramfs, Path the path of the host's file with its
	// content.
	Name, Path string
	// Target makes it a symbolic link instead.
	Target string
}

// Overlay writes an initramfs with files, which the kernel unpacks over an earlier one in
// the same file. Both must be uncompressed.
func Overlay(w io.Writer, files []File) error {
	var records []cpio.Record
	for _, f := range files {
		if f.Target != "" {
			records = append(records, cpio.Symlink(f.Name, f.Target))
			continue
		}
		data, err := os.ReadFile(f.Path)
		if err != nil {
			return fmt.Errorf("a file for a guest: %w", err)
		}
		records = append(records, program(f.Name, data)...)
	}
	return writeArchive(w, records)
}
