package lab

import (
	"context"

	"nines.dev/nines/lab/scripts"

	"nines.dev/nines/lab/bmc"
	"nines.dev/nines/lab/disturb"
	"nines.dev/nines/lab/login"
	"nines.dev/nines/lab/receive"
	"nines.dev/nines/lab/watch"
)

// The stages of make that the packages beside this one do.

// login makes what people log in with.
func (b *builder) login() *login.Maker {
	return &login.Maker{Lab: b.Lab.Lab, Place: b.place(), Again: b.again, Before: b.before}
}

func (b *builder) makeKeys(ctx context.Context, _ work) error { return b.login().MakeKeys(ctx) }

func (b *builder) startSSH(ctx context.Context, w work) error {
	return b.login().StartServers(ctx, w.nodes, w.logins)
}

func (b *builder) setUpReceiving(ctx context.Context, w work) error {
	return receive.Maker{Lab: b.Lab.Lab, Journal: b.journal, Poller: b.programs.poller}.SetUp(ctx, w.received)
}

func (b *builder) startDisturbances(ctx context.Context, _ work) error {
	return disturb.Maker{Lab: b.Lab.Lab, Journal: b.journal, Program: b.programs.disturb, Measured: b.measured}.Start(ctx)
}

func (b *builder) startWatcher(ctx context.Context, _ work) error {
	if b.measured { // by this process, which watches it
		return nil
	}
	return watch.Starter{Lab: b.Lab.Lab, Place: b.place(), Nines: b.programs.nines}.Start(ctx)
}

func (b *builder) startPower(ctx context.Context, _ work) error {
	return bmc.Starter{Lab: b.Lab.Lab, Place: b.place(), Nines: b.programs.nines, Before: b.before}.Start(ctx)
}

func (b *builder) makeScriptFolders(_ context.Context, w work) error {
	return scripts.MakeFolders(b.Lab.Lab, w.nodes, b.programs.script)
}
