package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/proc"
)

// endTimeout limits the wait for killed processes. A thousand nodes need some seconds on a
// busy machine; a process stuck in the kernel may never end.
const endTimeout = 60 * time.Second

// monitorGrace is the time that a container's monitor has to clean up.
const monitorGrace = 3 * time.Second

// endRounds limits how often End looks for more processes: a container whose start was
// interrupted may still be starting some.
const endRounds = 20

// ender ends processes of all kinds.
type ender struct{}

// End kills the processes and waits for them and their namespaces.
func (ender) End(ctx context.Context, entries []journal.Entry, note func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	var guests map[proc.Identity]string
	for round := 0; ; round++ {
		found, err := findTargets(entries)
		if err != nil {
			return err
		}
		if round == 0 {
			guests = found.guests()
		}
		if len(found.processes)+len(found.monitors) == 0 {
			break
		}
		if round == endRounds {
			return fmt.Errorf("new processes start as fast as nines ends them, such as process %d", found.any().PID)
		}
		if err := found.end(ctx); err != nil {
			return err
		}
	}
	for id, node := range guests {
		if id.Alive() {
			note(fmt.Sprintf("process %d (%s) is still in the network namespace of node %q, which stays until it ends",
				id.PID, id.Command(), node))
		}
	}
	return netns.Settle(ctx)
}

// targets are the processes to end.
type targets struct {
	processes []proc.Identity
	// monitors end by themselves after the processes that they watch.
	monitors []proc.Identity
	// inodes are the network namespaces of the processes, with the node's name.
	inodes map[uint64]string
}

func (t targets) any() proc.Identity { return append(t.processes, t.monitors...)[0] }

func findTargets(entries []journal.Entry) (targets, error) {
	found := targets{inodes: map[uint64]string{}}
	tokens := map[string]journal.Entry{}
	for _, entry := range entries {
		id, err := find(entry)
		if err != nil {
			return found, err
		}
		if id.PID > 0 && id.Alive() {
			found.processes = append(found.processes, id)
			found.inodes[entry.Learnt.NetInode] = entry.Node
		}
		// If the maker died, the process may be running although the journal did not learn it.
		if entry.Token != "" && (traits[entry.Kind].More || entry.Learnt == nil) {
			tokens[entry.Token] = entry
		}
	}
	delete(found.inodes, 0)
	if len(tokens) == 0 {
		return found, nil
	}
	err := proc.Each(func(id proc.Identity) error {
		for token, entry := range tokens {
			if err := found.consider(id, token, entry); err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}

// consider adds a process if it belongs to the entry: its monitor, or a process that holds its token.
func (t *targets) consider(id proc.Identity, token string, entry journal.Entry) error {
	if !id.Alive() || slices.Contains(t.processes, id) || slices.Contains(t.monitors, id) {
		return nil
	}
	monitor, err := traits[entry.Kind].isMonitor(entry, id)
	if err != nil {
		return err
	}
	if monitor {
		t.monitors = append(t.monitors, id)
		return nil
	}
	ours, err := id.Holds(token)
	if ours {
		t.processes = append(t.processes, id)
	}
	return err
}

// end kills all processes before it waits for any of them, so that the kernel removes their
// namespaces together. Monitors of killed containers get time to clean up; a monitor without a
// container is still starting it, and gets none.
func (t targets) end(ctx context.Context) error {
	if err := killAll(t.processes); err != nil {
		return err
	}
	for _, id := range t.processes {
		if err := awaitEnd(ctx, id); err != nil {
			return err
		}
	}
	grace := monitorGrace
	if len(t.processes) == 0 {
		grace = 0
	}
	patient, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for _, id := range t.monitors {
		if awaitEnd(patient, id) == nil {
			continue
		}
		if err := errors.Join(killAll([]proc.Identity{id}), awaitEnd(ctx, id)); err != nil {
			return err
		}
	}
	return nil
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
	return journal.Await(ctx, await.Condition{
		What: fmt.Sprintf("the killed process %d has ended", id.PID), Every: 200 * time.Microsecond, UpTo: 10 * time.Millisecond,
		Holds: func(context.Context) error { return await.Answer(!id.Alive() && id.Reap(), nil) },
	})
}

// guests returns the other processes in the nodes' network namespaces, with the node's name.
// Those in a node's PID namespace end with it; the others belong to the user, and keep the
// namespace alive. They must be found while the namespace exists, because the kernel may reuse
// its inode later.
func (t targets) guests() map[proc.Identity]string {
	guests := map[proc.Identity]string{}
	// An error only loses a note.
	_ = proc.Each(func(id proc.Identity) error {
		if node, ok := t.inodes[id.NetInode()]; ok && !slices.Contains(t.processes, id) {
			guests[id] = node
		}
		return nil
	})
	return guests
}
