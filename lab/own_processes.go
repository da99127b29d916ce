package lab

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/folder"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/bmc"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/lab/watch"
)

// A lab has processes of its own that change its nodes: the watcher, and the one that switches nodes for clients
// of the network. They take the lab's lock as anyone else.

// ownPatience is how long changes of a lab wait for one of its own processes, which has the lock while it
// starts a node again; a container with systemd takes long.
const ownPatience = 30 * time.Second

// ownProcesses are the lab's own processes; zero for one that it does not have.
func ownProcesses(s state.Folder) []proc.Identity {
	j, err := journal.Inspect(s.Journal())
	if err != nil {
		return nil
	}
	return []proc.Identity{process.OfStep(j, watch.IsWatcher), process.OfStep(j, bmc.IsProcess)}
}

// isOwn is true for one of the lab's own processes.
func isOwn(s state.Folder, pid int) bool {
	return pid != 0 && slices.ContainsFunc(ownProcesses(s), func(id proc.Identity) bool { return id.PID == pid })
}

// endOwnAtWork ends the lab's own process that has its lock: nobody waits for a node to start when
// the lab is taken down.
func endOwnAtWork(name string) {
	s := state.Of(name)
	if state.CheckName(name) != nil || folder.Check(s.Place()) != nil {
		return // the caller says why
	}
	lock, err := flock.Try(s.Lock())
	if err == nil {
		_ = lock.Free()
		return
	}
	var held *flock.HeldError
	if !errors.As(err, &held) || held.PID == 0 {
		return
	}
	for _, id := range ownProcesses(s) {
		if id.PID == held.PID {
			// Its lock ends with it, and the undo finds what it left.
			_ = id.Signal(unix.SIGKILL)
		}
	}
}
