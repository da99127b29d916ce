package lab

import (
	"context"
	"fmt"
	"os"

	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/scripts"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/terminal"
)

// buildAll makes a whole lab.
func (b *builder) buildAll(ctx context.Context, options UpOptions) error {
	if options.Measurement != nil {
		if err := state.WriteJSON(b.State().Measured(), options.Measurement.owner); err != nil {
			return err
		}
	}
	if err := state.WriteFile(b.State().Experiment(), options.Experiment); err != nil {
		return err
	}
	for _, dir := range []string{b.State().Engines(), b.State().Logs(), b.State().Switches()} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("make a folder of the lab: %w", err)
		}
	}
	if err := slow(b.progress, "running host_setup", func() error { return scripts.SetUpHost(ctx, b.Lab.Lab, b.journal, options.Scripts) }); err != nil {
		return err
	}
	if err := isolate.ReserveHugepages(b.journal, b.Plan(), state.HugepageLedger); err != nil {
		return err
	}
	if err := slow(b.progress, "tuning the host", func() error { return b.tuneHost(ctx) }); err != nil {
		return err
	}
	if err := b.startFabric(); err != nil {
		return err
	}
	whole := work{nodes: b.Plan().Nodes, received: map[string]bool{}}
	for _, n := range b.Plan().Nodes {
		whole.received[n.Name] = true
	}
	for _, l := range b.Plan().Links {
		whole.links = append(whole.links, linkWork{l, l.Endpoints})
	}
	return b.build(ctx, whole)
}

// build makes nodes, then links, then what runs in them, and keeps what was set on the devices.
func (b *builder) build(ctx context.Context, w work) error {
	if err := b.make(ctx, w); err != nil {
		return err
	}
	if err := check.KeepSysctls(b.Lab.Lab); err != nil {
		return err
	}
	b.Record(b.mergedSettings())
	if err := state.WriteJSON(b.State().Settings(), b.Settings()); err != nil {
		return err
	}
	_, err := b.TakeRedirects()
	return err
}

func (b *builder) make(ctx context.Context, w work) error {
	stages := []struct {
		name string
		run  func(context.Context, work) error
	}{
		{"checking that the nodes' addresses are free", b.probeAddresses},
		{"making the folders of sockets", b.makeSockets},
		{"making the folders of scripts", b.makeScriptFolders},
		{"writing the names of nodes", b.writeNames},
		{"making keys", b.makeKeys},
		{"preparing network cards", b.prepareHardware},
		{"moving nodes to other CPUs", b.moveNodes},
		{"starting " + terminal.Count(len(w.nodes), "node"), b.startNodes},
		{"making " + terminal.Count(len(w.links), "link"), b.makeLinks},
		{"starting virtual machines", b.bootGuests},
		{"setting up interfaces", b.configure},
		{"waiting until the links are up", b.awaitLinks},
		{"starting the DNS server", b.serveNames},
		{"starting what waits for its network", b.startWaiting},
		{"starting SSH servers", b.startSSH},
		{"moving interrupts to the nodes' CPUs", b.steer},
		{"setting up receive modes", b.setUpReceiving},
		{"starting engines", b.startApps},
		{"running the nodes' commands", b.runExecs},
		{"starting services", b.startServices},
		{"starting disturbances", b.startDisturbances},
		{"starting the watcher", b.startWatcher},
		{"starting power control", b.startPower},
	}
	for _, stage := range stages {
		err := ctx.Err()
		if err == nil {
			err = slow(b.progress, stage.name, func() error { return stage.run(ctx, w) })
		}
		if err != nil {
			return interruptedIn(ctx, stage.name, err)
		}
	}
	return nil
}
