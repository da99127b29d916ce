package lab

import (
	"context"
	"slices"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
)

func (b *builder) hardware() *link.Hardware {
	return &link.Hardware{Journal: b.journal, Plan: b.Plan(), Progress: b.progress}
}

// prepareHardware prepares the PCI functions of the work's links, before the nodes that open them
// start.
func (b *builder) prepareHardware(ctx context.Context, w work) error {
	var links []plan.Link
	for _, l := range w.links {
		links = append(links, l.Link)
	}
	return b.hardware().Prepare(ctx, links)
}

// withDevices is a node that may also open the device nodes of its functions; a plan cannot know
// these, as they appear with the functions.
func (b *builder) withDevices(ctx context.Context, n plan.Node) (plan.Node, error) {
	if len(n.Functions) == 0 {
		return n, nil
	}
	files, err := b.hardware().Files(ctx, n)
	if err != nil {
		return n, err
	}
	n.Devices = slices.Concat(n.Devices, files)
	return n, nil
}
