package node

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/proc"
)

// Detached starts a command in a node that outlives its starter, with its output
// going to log, and identifies it.
func Detached(ctx context.Context, r *Running, initPath string, e Entry, log *os.File) (proc.Identity, error) {
	cmd, err := r.Enter(ctx, initPath, e)
	if err != nil {
		return proc.Identity{}, err
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return proc.Identity{}, err
	}
	defer reader.Close()
	// The command itself must not write where its process id is printed.
	cmd.Stdout, cmd.Stderr = writer, log
	err = cmd.Run()
	writer.Close()
	if err != nil {
		return proc.Identity{}, fmt.Errorf("start %s: %w", e.Argv[0], err)
	}
	text := make([]byte, 16)
	n, err := reader.Read(text)
	if err != nil {
		return proc.Identity{}, fmt.Errorf("start %s: %w", e.Argv[0], err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return proc.Identity{}, fmt.Errorf("start %s: %w", e.Argv[0], err)
	}
	return proc.Of(pid)
}

// WriteInside writes to a file below /proc/sys as the node's ipc and uts
// namespaces see it.
func WriteInside(r *Running, path, value string) error {
	done := make(chan error)
	go func() {
		// A thread that has been in other namespaces is not used again: the runtime
		// ends it with this goroutine.
		runtime.LockOSThread()
		done <- func() error {
			fd, err := unix.PidfdOpen(r.PID, 0)
			if err != nil {
				return os.NewSyscallError("pidfd_open", err)
			}
			defer unix.Close(fd)
			if err := unix.Setns(fd, unix.CLONE_NEWIPC|unix.CLONE_NEWUTS); err != nil {
				return os.NewSyscallError("setns", err)
			}
			return os.WriteFile(path, []byte(value), 0o644)
		}()
	}()
	return <-done
}
