package node

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/plan"
)

// ShutDown asks what runs in a node to end, and waits for that for at most HaltPatience. It does not
// end the node. A container with systemd powers off. In other nodes each process gets SIGTERM, as at
// the end of an init: also the first one, if it is the node's own and catches the signal; its image
// may name another signal for it.
func (p Place) ShutDown(ctx context.Context, n plan.Node, r *Running) error {
	switch {
	case r == nil || !r.Alive():
		return nil
	case UsesSystemd(n):
		return p.Halt(ctx, n, r)
	case n.Guest():
		return p.shutDownGuest(ctx, n, r)
	}
	first := r.Identity
	signal, err := p.stopSignal(n)
	if err != nil {
		return err
	}
	own := n.OCI != nil && first.Catches(signal)
	inside, err := inPIDNamespaceOf(first)
	if err != nil {
		return fmt.Errorf("node %q: find its processes: %w", n.Name, err)
	}
	for _, id := range inside {
		if err := id.Signal(unix.SIGTERM); err != nil {
			return fmt.Errorf("node %q: ask process %d to end: %w", n.Name, id.PID, err)
		}
	}
	if own {
		if err := first.Signal(signal); err != nil {
			return fmt.Errorf("node %q: signal its first process to end: %w", n.Name, err)
		}
		inside = append(inside, first)
	}
	ended := func() bool { return !first.Alive() || !anyAlive(inside) }
	return p.awaitEnd(ctx, ended, fmt.Sprintf("node %s: its processes have not ended", n.Name))
}

// inPIDNamespaceOf are the other processes of a first process's PID namespace.
func inPIDNamespaceOf(first proc.Identity) (inside []proc.Identity, err error) {
	inode := first.PIDInode()
	if inode == 0 {
		return nil, nil // it has ended
	}
	err = proc.Each(func(id proc.Identity) error {
		if id != first && id.PIDInode() == inode {
			inside = append(inside, id)
		}
		return nil
	})
	return inside, err
}

func anyAlive(ids []proc.Identity) bool {
	for _, id := range ids {
		if id.Alive() {
			return true
		}
	}
	return false
}

// guestShutDown lets the processes of a guest end: all but the first, and the kernel's, which have no
// arguments.
const guestShutDown = `kill -TERM -1
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	left=
	for p in /proc/[0-9]*; do
		case $p in /proc/1|/proc/$$) continue ;; esac
		read -r state 2>/dev/null <"$p/cmdline" || [ -n "$state" ] && left=1
	done
	[ -z "$left" ] && break
	sleep 0.3
done
sync`

// shutDownGuest asks the processes of a guest to end. A guest that does not answer is ended as it is.
func (p Place) shutDownGuest(ctx context.Context, n plan.Node, r *Running) error {
	bounded, cancel := context.WithTimeout(ctx, HaltPatience)
	defer cancel()
	guest, err := p.session(bounded, r)
	if err == nil {
		defer guest.Close()
		_, err = inGuest(bounded, guest, nil, "sh", "-c", guestShutDown)
	}
	if err != nil && ctx.Err() == nil {
		p.Progress(fmt.Sprintf("node %s: its guest has not shut down, and is killed: %v", n.Name, err))
	}
	return ctx.Err()
}

// Interrupt interrupts a virtual machine as a diagnostic button does: its kernel gets an NMI, and does
// what its settings say (kernel.unknown_nmi_panic).
func (p Place) Interrupt(ctx context.Context, n plan.Node, r *Running) error {
	switch {
	case !n.Guest():
		return exit.Wrongf("node %q: its runtime %s has no own kernel to interrupt", n.Name, n.Runtime)
	case !RuntimeOf(n).Alive(r):
		return r.gone("its machine has ended")
	}
	config, err := p.machineConfig(r.Name)
	if err != nil {
		return err
	}
	return config.Interrupt(ctx)
}
