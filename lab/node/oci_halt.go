package node

import (
	"context"
	"fmt"

	"github.com/moby/sys/signal"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// stopSignal is the signal that asks a node's first process to end: the one that its image names
// (config.md of the OCI's image-spec, StopSignal), or SIGTERM.
func (p Place) stopSignal(n plan.Node) (unix.Signal, error) {
	if n.OCI == nil || n.OCI.Init != spec.InitOfImage {
		return unix.SIGTERM, nil
	}
	of, err := readImage(p.bundle(n).imageFile())
	if err != nil || of.Config.StopSignal == "" {
		return unix.SIGTERM, err
	}
	number, err := signal.ParseSignal(of.Config.StopSignal)
	if err != nil {
		return 0, exit.Wrongf("node %q: its image's stop signal: %w; correct the image, or use --kill", n.Name, err)
	}
	return number, nil
}

// haltImage lets an image's first process end by its stop signal. One that does not handle the signal never gets it: it
// is pid 1 (pid_namespaces(7)).
func (p Place) haltImage(ctx context.Context, n plan.Node, r *Running) error {
	if n.OCI.Init != spec.InitOfImage {
		return nil
	}
	stop, err := p.stopSignal(n)
	if err != nil || !r.Catches(stop) {
		return err
	}
	if err := r.Signal(stop); err != nil {
		return fmt.Errorf("node %q: signal its first process to end: %w", n.Name, err)
	}
	return p.awaitEnd(ctx, func() bool { return !r.Alive() }, fmt.Sprintf("node %s: its first process has not ended", n.Name))
}
