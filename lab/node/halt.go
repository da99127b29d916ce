package node

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/plan"
)

// HaltPatience is how long a node may take to shut down by itself.
const HaltPatience = 10 * time.Second

// systemdHalt asks systemd to power off, systemd(1): SIGRTMIN+3, where the C library keeps two
// real-time signals for itself (32 and 33).
const systemdHalt = unix.Signal(34 + 3)

// Halt lets a container's systemd end its services before the container is ended, and the first
// process of an image that names a signal for that. Other nodes have no services of their own, and are
// just ended.
func (p Place) Halt(ctx context.Context, n plan.Node, r *Running) error {
	if r == nil || !r.Alive() {
		return nil
	}
	if n.OCI != nil {
		return p.haltImage(ctx, n, r)
	}
	if !UsesSystemd(n) {
		return nil
	}
	if err := r.Signal(systemdHalt); err != nil {
		return fmt.Errorf("node %q: ask its systemd to power off: %w", n.Name, err)
	}
	ended := func() bool {
		// LXC's monitor cleans up after the container, and then ends.
		return !r.Alive() && !p.hasMonitor(n)
	}
	return p.awaitEnd(ctx, ended, fmt.Sprintf("node %s: its systemd has not powered off", n.Name))
}

// awaitEnd waits until what was asked to end has done so. After HaltPatience it says what is overdue,
// which its caller then ends.
func (p Place) awaitEnd(ctx context.Context, ended func() bool, overdue string) error {
	has, err := await.InTime(ctx, await.Condition{
		What: "it has ended", Within: HaltPatience, Every: 10 * time.Millisecond,
		Holds: func(context.Context) error { return await.Answer(ended(), nil) },
	})
	if !has && err == nil {
		p.Progress(fmt.Sprintf("%s within %v; nines kills what is left", overdue, HaltPatience))
	}
	return err
}

// hasMonitor is true while LXC's monitor of a container runs.
func (p Place) hasMonitor(n plan.Node) (has bool) {
	_ = proc.Each(func(id proc.Identity) error {
		is, err := isMonitor(id, p.lxcPath(), n.HostName)
		has = has || is
		return err
	})
	return has
}
