package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/testbed/netns"
	"nines.dev/nines/testbed/proc"
)

// endTimeout bounds the wait for killed processes. A thousand nodes need some
// seconds on a busy machine; a process stuck in the kernel would need for ever.
const endTimeout = 60 * time.Second

// monitorGrace is what a container's monitor has for its own tidying.
const monitorGrace = 3 * time.Second

// killBatch bounds the process descriptors that are open at once.
const killBatch = 256

// End kills the processes and containers and waits for them and their namespaces.
func (h Host) End(ctx context.Context, entries []Entry) error {
	if h.rebooted() {
		return nil
	}
	targets, err := h.targets(entries)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	// All are killed before any is awaited, so that the kernel takes the namespaces
	// down together.
	var first, monitors []proc.Identity
	inodes := map[uint64]string{}
	for _, t := range targets {
		if t.monitor {
			monitors = append(monitors, t.Identity)
			continue
		}
		first = append(first, t.Identity)
		if t.inode != 0 {
			inodes[t.inode] = t.node
		}
	}
	for start := 0; start < len(first); start += killBatch {
		if err := killAll(first[start:min(start+killBatch, len(first))]); err != nil {
			return err
		}
	}
	for _, id := range first {
		if err := awaitEnd(ctx, id); err != nil {
			return err
		}
	}
	if err := endMonitors(ctx, monitors); err != nil {
		return err
	}
	h.noteHeld(inodes)
	return netns.Settle(ctx)
}

// target is a process to be ended.
type target struct {
	proc.Identity
	node    string
	inode   uint64
	monitor bool
}

func (h Host) targets(entries []Entry) ([]target, error) {
	var found []target
	tokens := map[string]Entry{}
	for _, entry := range entries {
		if entry.Learnt != nil && entry.Learnt.PID > 0 {
			id := proc.Identity{PID: entry.Learnt.PID, StartTicks: entry.Learnt.StartTicks}
			if id.Alive() {
				found = append(found, target{Identity: id, node: entry.Node, inode: entry.Learnt.NetInode})
			}
		}
		// A container's monitor is never learnt; a process whose maker died may be
		// there unlearnt.
		if entry.Token != "" && (entry.Kind == KindContainer || entry.Learnt == nil) {
			tokens[entry.Token] = entry
		}
	}
	if len(tokens) == 0 {
		return found, nil
	}
	err := proc.Each(func(id proc.Identity) {
		for token, entry := range tokens {
			switch {
			case entry.Kind == KindContainer && id.HasArguments(entry.Path, entry.Name):
				found = append(found, target{Identity: id, node: entry.Node, monitor: true})
			case id.Holds(token):
				found = append(found, target{Identity: id, node: entry.Node})
			}
		}
	})
	return found, err
}

func killAll(ids []proc.Identity) error {
	for _, id := range ids {
		if err := id.Signal(unix.SIGKILL); err != nil {
			return fmt.Errorf("end process %d: %w", id.PID, err)
		}
	}
	return nil
}

func awaitEnd(ctx context.Context, id proc.Identity) error {
	for pause := 200 * time.Microsecond; id.Alive(); pause = min(2*pause, 10*time.Millisecond) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d was killed but does not end: %w", id.PID, ctx.Err())
		case <-time.After(pause):
		}
	}
	id.Reap()
	return nil
}

// endMonitors lets LXC's monitors finish after their container, so that they remove
// what they made, and ends those that do not.
func endMonitors(ctx context.Context, monitors []proc.Identity) error {
	grace, cancel := context.WithTimeout(ctx, monitorGrace)
	defer cancel()
	for _, id := range monitors {
		if awaitEnd(grace, id) == nil {
			continue
		}
		if err := errors.Join(killAll([]proc.Identity{id}), awaitEnd(ctx, id)); err != nil {
			return err
		}
	}
	return nil
}

// noteHeld tells of processes of the user that keep a node's network namespace.
func (h Host) noteHeld(inodes map[uint64]string) {
	if len(inodes) == 0 || h.Note == nil {
		return
	}
	_ = proc.Each(func(id proc.Identity) {
		if node, ok := inodes[id.NetInode()]; ok && id.PID != os.Getpid() {
			h.note("process %d (%s) is still in the network namespace of node %q, which stays until it ends",
				id.PID, id.Command(), node)
		}
	})
}
