package image

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// archive writes the format that the kernel unpacks an initramfs from: cpio's "newc",
// Documentation/driver-api/early-userspace/buffer-format.rst. It is not compressed:
// unpacking would cost a translated guest more than reading does.
type archive struct {
	w       io.Writer
	inode   int
	folders []string
}

const (
	cpioFolder = 0o040755
	cpioFile   = 0o100755
)

// file adds a file, and the folders above it.
func (a *archive) file(name string, data []byte) error {
	name = strings.TrimPrefix(path.Clean(name), "/")
	var above []string
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		above = append(above, dir)
	}
	for _, dir := range slices.Backward(above) {
		if slices.Contains(a.folders, dir) {
			continue
		}
		a.folders = append(a.folders, dir)
		if err := a.entry(dir, cpioFolder, nil); err != nil {
			return err
		}
	}
	return a.entry(name, cpioFile, data)
}

// close writes the archive's end.
func (a *archive) close() error { return a.entry("TRAILER!!!", 0, nil) }

func (a *archive) entry(name string, mode int, data []byte) error {
	a.inode++
	// Inode, mode, user, group, links, time, size, device (2), device of a special file
	// (2), length of the name with its end, and a checksum that newc has not.
	header := fmt.Sprintf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		a.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0)
	head := []byte(header + name + "\x00")
	for _, part := range [][]byte{pad(head), pad(data)} {
		if _, err := a.w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// pad makes a part's length a multiple of four.
func pad(data []byte) []byte {
	return append(slices.Clip(data), make([]byte, (4-len(data)%4)%4)...)
}
