package link

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/plan"
)

// vfSettle is how long a carrier must last after the last setting. A setting is a message to the
// port's driver too: a function's driver that got no answer within 100 ms continues as
// before, and drops the carrier at its next check, every 2 s, in whole seconds.
const vfSettle = 3 * time.Second

// settleTries is how often links are set up again that lose their carriers. A busy host, whose drivers
// answer later than 100 ms again and again, has needed more than five.
const settleTries = 10

// late are the drivers of virtual functions that notice a lost message late (e1000_check_for_link_vf
// in igbvf/vf.c, ixgbevf_watchdog_update_link in ixgbevf/ixgbevf_main.c). The others ask again.
var late = []string{"igbvf", "ixgbevf"}

// SettleFunctions waits until links between virtual functions carry frames of their MTU, and will
// go on to do so. A link that does not is set up again: of some lost messages a driver never
// hears, and the port drops what it was not told of, for example long frames.
func (s *Site) SettleFunctions(ctx context.Context, links []plan.Link) error {
	links = slices.DeleteFunc(slices.Clone(links), func(l plan.Link) bool { return len(s.functionsOf(l)) == 0 })
	if len(links) == 0 {
		return nil
	}
	var fault error
	for range settleTries {
		var troubled *plan.Link
		var err error
		if troubled, fault, err = s.troubled(ctx, links); err != nil || troubled == nil {
			return err
		}
		if err := s.restartFunctions(ctx, *troubled); err != nil {
			return inLink(*troubled, err)
		}
	}
	return fault
}

// functionsOf are a link's endpoints that are virtual functions which the kernel drives.
func (s *Site) functionsOf(l plan.Link) []plan.Endpoint {
	return slices.DeleteFunc(slices.Clone(l.Endpoints), func(e plan.Endpoint) bool { return !isKernelFunction(l, e) })
}

// troubled returns the first link that loses a carrier or frames, and how; nil if none does.
func (s *Site) troubled(ctx context.Context, links []plan.Link) (l *plan.Link, fault, err error) {
	if l, fault, err = s.losesCarrier(ctx, links); l != nil || err != nil {
		return l, fault, err
	}
	for _, l := range links {
		switch fault, err := s.testPath(ctx, l); {
		case err != nil:
			return nil, nil, inLink(l, err)
		case fault != nil:
			return &l, inLink(l, fault), nil
		}
	}
	return nil, nil, nil
}

// losesCarrier watches the links whose drivers notice a lost message late.
func (s *Site) losesCarrier(ctx context.Context, links []plan.Link) (lost *plan.Link, fault, err error) {
	var bus pci.Bus
	links = slices.DeleteFunc(slices.Clone(links), func(l plan.Link) bool {
		return !slices.ContainsFunc(s.functionsOf(l), func(e plan.Endpoint) bool { return slices.Contains(late, bus.Driver(e.Function.Address)) })
	})
	if len(links) == 0 {
		return nil, nil, nil
	}
	_, err = await.InTime(ctx, await.Condition{What: "carriers have lasted", Within: vfSettle, Every: carrierEvery, Holds: func(context.Context) error {
		for _, l := range links {
			for _, e := range s.functionsOf(l) {
				ready, err := s.hasCarrier(e)
				if err != nil {
					return await.Never(err)
				}
				if !ready {
					lost, fault = &l, inLink(l, noCarrier(e.Interface, &e.Function))
					return nil
				}
			}
		}
		return await.Answer(false, nil)
	}})
	return lost, fault, err
}

func (s *Site) hasCarrier(e plan.Endpoint) (ready bool, err error) {
	holder, err := s.node(e.Node)
	if err != nil {
		return false, err
	}
	err = inside(holder, func(_ *netns.Namespace, handle *netlink.Handle) error {
		ready, err = carries(handle, e.Interface)
		return err
	})
	return ready, err
}

// restartFunctions sets a link's functions down, and up with all that is planned for them.
func (s *Site) restartFunctions(ctx context.Context, l plan.Link) error {
	for _, e := range s.functionsOf(l) {
		holder, err := s.node(e.Node)
		if err != nil {
			return err
		}
		err = inside(holder, func(_ *netns.Namespace, handle *netlink.Handle) error {
			device, err := handle.LinkByName(e.Interface)
			if err != nil {
				return fmt.Errorf("find %s: %w", e.Interface, err)
			}
			return handle.LinkSetDown(device)
		})
		if err != nil {
			return err
		}
	}
	for _, n := range s.Plan.Nodes {
		var again []plan.Interface
		for _, e := range s.functionsOf(l) {
			if i, err := s.interfaceOf(e); err == nil && e.Node == n.Name {
				again = append(again, i)
			}
		}
		if len(again) == 0 {
			continue
		}
		if err := s.Configure(ctx, n, again, nil); err != nil {
			return err
		}
	}
	return nil
}

// testPath sends frames of the link's MTU both ways, where the kernel drives both ends.
func (s *Site) testPath(ctx context.Context, l plan.Link) (fault, err error) {
	ends := s.functionsOf(l)
	if len(ends) != 2 {
		return nil, nil
	}
	var open []cableEnd
	defer func() {
		for _, e := range open {
			e.close()
		}
	}()
	for _, e := range ends {
		holder, err := s.node(e.Node)
		if err != nil {
			return nil, err
		}
		err = inside(holder, func(ns *netns.Namespace, _ *netlink.Handle) error {
			return ns.Do(func() error {
				opened, err := openEnd(e.Interface)
				if err == nil {
					open = append(open, opened)
				}
				return err
			})
		})
		if err != nil {
			return nil, err
		}
	}
	size := ethernetHeader + l.MTU
	for from, to := range []int{1, 0} {
		arrived, err := crosses(ctx, open[from], open[to], size)
		if err != nil {
			return nil, err
		}
		if !arrived {
			return &exit.MissingError{
				Capability: fmt.Sprintf("a path from %s:%s to %s:%s", ends[from].Node, ends[from].Interface, ends[to].Node, ends[to].Interface),
				Reason:     fmt.Sprintf("both functions have a carrier, but no frame of %d bytes arrives, even after a restart", size),
				Remedy:     fmt.Sprintf("ip -d link show %s (vlan, spoof checking, link-state of VF %d), and the kernel's log of its driver", ends[to].Function.Name, ends[to].Function.Index),
			}, nil
		}
	}
	return nil, nil
}
