package lab

import (
	"context"

	"nines.dev/nines/lab/login"
)

// login makes what people log in with.
func (b *builder) login() *login.Maker {
	return &login.Maker{Lab: b.Lab.Lab, Place: b.place(), Again: b.again, Before: b.before}
}

func (b *builder) makeKeys(ctx context.Context, _ work) error { return b.login().MakeKeys(ctx) }

func (b *builder) startSSH(ctx context.Context, w work) error {
	return b.login().StartServers(ctx, w.nodes, w.logins)
}
