package lab

import (
	"context"

	"nines.dev/nines/lab/receive"
)

func (b *builder) setUpReceiving(ctx context.Context, w work) error {
	return receive.Maker{Lab: b.Lab.Lab, Journal: b.journal, Poller: b.programs.poller}.SetUp(ctx, w.received)
}
