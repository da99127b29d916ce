package image

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

// File is a file of an initramfs.
type File struct {
	// Name is its path there, Path that of the host's file with its content.
	Name, Path string
	// Target makes it a symbolic link instead.
	Target string
}

// Overlay writes an initramfs with files, which the kernel unpacks over one that comes
// before it in the same file. Both have to be as they are, not compressed.
func Overlay(w io.Writer, files []File) error {
	buffer := bufio.NewWriterSize(w, 1<<20)
	a := &archive{w: buffer}
	for _, f := range files {
		if f.Target != "" {
			if err := a.entry(strings.TrimPrefix(f.Name, "/"), cpioLink, []byte(f.Target)); err != nil {
				return err
			}
			continue
		}
		data, err := os.ReadFile(f.Path)
		if err != nil {
			return fmt.Errorf("a file for a guest: %w", err)
		}
		if err := a.file(f.Name, data); err != nil {
			return err
		}
	}
	if err := a.close(); err != nil {
		return err
	}
	return buffer.Flush()
}

// cpioLink is the mode of a symbolic link, whose content is its target.
const cpioLink = 0o120777
