package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/login"
	"nines.dev/nines/plan"
)

// checkManagement checks that the host has what a management network needs.
func checkManagement(p *plan.Plan) error {
	m := p.Management
	if m == nil {
		return nil
	}
	if m.Server != "" {
		if _, err := link.FindNameServer(); err != nil {
			return err
		}
	}
	return errors.Join(login.Check(p), link.CheckManagement(m))
}

// probeAddresses asks the network that the nodes will share with others whether their addresses are free.
func (b *builder) probeAddresses(ctx context.Context, w work) error {
	m := b.Plan().Management
	if m == nil || !m.Shared() {
		return nil
	}
	asked := map[netip.Addr]string{}
	for _, l := range w.links {
		if !l.Management {
			continue
		}
		joins := map[string]bool{}
		for _, e := range l.endpoints {
			joins[e.Node] = true
		}
		for _, n := range b.Plan().Nodes {
			if address, err := netip.ParseAddr(b.Plan().ManagementAddress(n)); err == nil && joins[n.Name] {
				asked[address] = n.Name
			}
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return link.ProbeAddresses(ctx, m, asked)
}

// writeNames writes the files with the nodes' names. When a node comes or goes, the running nodes get the
// change; a virtual machine gets it when it boots.
func (b *builder) writeNames(context.Context, work) error {
	if err := b.place().WriteNames(); err != nil {
		return fmt.Errorf("write the nodes' hosts files: %w", err)
	}
	return nil
}

// serveNames sees to it that the management network's server of names runs, and has this plan's names.
func (b *builder) serveNames(ctx context.Context, _ work) error {
	if b.Plan().Management == nil || b.Plan().Management.Server == "" {
		return nil
	}
	return b.site.ServeNames(ctx, *b.Index().Link(b.Plan().Management.Link))
}
