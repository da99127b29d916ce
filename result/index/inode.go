package index

import (
	"io/fs"
	"syscall"
)

// inode is the file's number, which changes when a file is replaced; 0 if the file system has none.
func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}
