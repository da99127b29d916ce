package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/kernel/thread"
)

// Detached starts a command in a node that outlives its starter, with its output
// going to log, and identifies it.
func Detached(ctx context.Context, r *Running, initPath string, e Entry, log *os.File) (proc.Identity, error) {
	cmd, err := r.Enter(ctx, initPath, e)
	if err != nil {
		return proc.Identity{}, err
	}
	id, err := Detach(cmd, log)
	if err != nil {
		return id, fmt.Errorf("start %s: %w", e.Argv[0], err)
	}
	return id, nil
}

// Detach starts a command whose Entry has Detach set, as Detached does.
func Detach(cmd *exec.Cmd, log *os.File) (proc.Identity, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return proc.Identity{}, err
	}
	defer reader.Close()
	// The command itself must not write where its process id is printed.
	cmd.Stdout, cmd.Stderr = writer, log
	err = cmd.Run()
	writer.Close()
	text := make([]byte, 16)
	n, pid := 0, 0
	if err == nil {
		n, err = reader.Read(text)
	}
	if err == nil {
		pid, err = strconv.Atoi(strings.TrimSpace(string(text[:n])))
	}
	if err != nil {
		return proc.Identity{}, err
	}
	return proc.Of(pid)
}

// WriteInside writes to a file below the host's /proc/sys, where a thread sees those of its own ipc
// and uts namespaces, in the node's namespaces.
func WriteInside(r *Running, path, value string) error {
	return Inside(r, func() error { return os.WriteFile(path, []byte(value), 0o644) })
}

// Inside calls f on a thread in the ipc and uts namespaces of a node, and nowhere else of it.
func Inside(r *Running, f func() error) error {
	return thread.Ending(func() error {
		fd, err := unix.PidfdOpen(r.PID, 0)
		if err != nil {
			return os.NewSyscallError("pidfd_open", err)
		}
		defer unix.Close(fd)
		if err := unix.Setns(fd, unix.CLONE_NEWIPC|unix.CLONE_NEWUTS); err != nil {
			return os.NewSyscallError("setns", err)
		}
		return f()
	})
}
