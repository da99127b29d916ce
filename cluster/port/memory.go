package port

import (
	"context"
	"os"
	"path/filepath"

	"nines.dev/nines/journal"
)

// KindMemory is a file system in memory, at Path, in which pods make the sockets that they share memory
// through. Each port has its own small one, because pods can write to it.
var KindMemory = journal.Register("port memory", journal.Undo{Step: removeMemory})

// MemoryParent is the parent of the ports that pods share: the node's memory.
const MemoryParent = "memory"

const (
	// memoryFolder is the keeper's folder for these file systems. It has a folder for each port, where the
	// file system is mounted as memoryName. So pods cannot write where the keeper looks for records.
	memoryFolder = ".memory"
	memoryName   = "shared"
	memoryType   = "tmpfs"
	// memoryOptions leave room for sockets of any user, which need no pages, and for nothing else.
	memoryOptions = "mode=1777,size=64k,nr_inodes=16"
)

// takeMemory makes a folder in which pods make sockets. Only the pods know which of them listens.
func takeMemory(_ context.Context, s site, _ *Held) error {
	return s.journal.Make(journal.Step{Kind: KindMemory, Name: s.Port.Name, Path: s.sockets}, func() (journal.Learnt, error) {
		return journal.Learnt{}, mount(s.sockets, memoryType, memoryOptions)
	})
}

// restoreMemory checks that the file system of a port is still mounted.
func restoreMemory(_ context.Context, s site, _ *Held) error {
	return s.stillMounted(s.sockets, memoryType)
}

// removeMemory unmounts the file system, and removes the folders that it was in.
func removeMemory(_ context.Context, u journal.Undoing) error {
	if err := unmount(u.Path, memoryType); err != nil {
		return err
	}
	own := filepath.Dir(u.Path)
	for _, folder := range []string{u.Path, own} {
		if left, err := removeFolder(u, folder); left || err != nil {
			return err
		}
	}
	_ = os.Remove(filepath.Dir(own)) // if it is empty
	return nil
}
