package link

import (
	"fmt"
	"maps"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
)

// fabric is a routing socket and an ethtool socket in the fabric namespace, or in
// that of a link's program.
type fabric struct {
	*netlink.Handle
	holder  Holder
	ns      *netns.Namespace
	ethtool *ethtool
}

func (s *Site) inFabric(f func(*fabric) error) error { return inFabricOf(s.Fabric, f) }

func inFabricOf(holder Holder, f func(*fabric) error) error {
	return inside(holder, func(ns *netns.Namespace, handle *netlink.Handle) error {
		e, err := openEthtool(ns)
		if err != nil {
			return err
		}
		defer e.close()
		return f(&fabric{handle, holder, ns, e})
	})
}

// addFabricPair makes a veth pair between the fabric and a node, or the tap of a virtual machine.
// It sets the fabric's end up and returns it.
func (s *Site) addFabricPair(f *fabric, l plan.Link, e plan.Endpoint, master int) (netlink.Link, error) {
	near := end{name: e.FabricDevice, holder: f.holder}
	step := journal.Step{Link: l.Name, Node: e.Node}
	if e.Guest {
		if err := s.addTap(f.Handle, step, near, l.MTU, master); err != nil {
			return nil, err
		}
	} else {
		far, err := s.nodeEnd(e)
		if err != nil {
			return nil, err
		}
		if err := s.addPair(f.Handle, step, near, far, l.MTU, master); err != nil {
			return nil, err
		}
	}
	device, err := f.LinkByName(e.FabricDevice)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", e.FabricDevice, err)
	}
	values, err := f.ethtool.apply(e.FabricDevice, offloadsOf(l))
	if err != nil {
		return nil, err
	}
	describe(device, values)
	if l.Management {
		if values["sources"], err = s.checkSources(f, e, device); err != nil {
			return nil, fmt.Errorf("check the sources of what comes by %s: %w", e.FabricDevice, err)
		}
	}
	if err := f.LinkSetUp(device); err != nil {
		return nil, fmt.Errorf("set %s up: %w", e.FabricDevice, err)
	}
	if l.GRO {
		gro, err := f.ethtool.apply(e.FabricDevice, groOn)
		if err != nil {
			return nil, err
		}
		maps.Copy(values, gro)
	}
	s.record("", l.Name, e.FabricDevice, values)
	return device, nil
}

// addFabricPairs makes the veth pairs of the endpoints that attach to the link's program as kernel
// devices.
func (s *Site) addFabricPairs(l plan.Link, endpoints []plan.Endpoint) error {
	return s.addPairsAt(s.Fabric, l, endpoints)
}

// addPairsAt does the same with the far ends in the network namespace of holder.
func (s *Site) addPairsAt(holder Holder, l plan.Link, endpoints []plan.Endpoint) error {
	return inFabricOf(holder, func(f *fabric) error {
		for _, e := range endpoints {
			if e.Attach != plan.AttachVeth {
				continue
			}
			if _, err := s.addFabricPair(f, l, e, 0); err != nil {
				return err
			}
		}
		return nil
	})
}

// findOrAdd finds a device of the fabric, or makes it. The bool is true where it was made.
func (s *Site) findOrAdd(f *fabric, l plan.Link, device netlink.Link) (netlink.Link, bool, error) {
	name := device.Attrs().Name
	if found, err := f.LinkByName(name); err == nil {
		return found, false, nil
	}
	step := journal.Step{Link: l.Name, Holder: f.holder.Step}
	if err := s.add(f.Handle, step, device); err != nil {
		return nil, false, err
	}
	found, err := f.LinkByName(name)
	if err != nil {
		return nil, false, fmt.Errorf("find %s: %w", name, err)
	}
	return found, true, nil
}

// describe adds a device's queue and MTU as the kernel reports them.
func describe(device netlink.Link, values map[string]string) {
	attrs := device.Attrs()
	values["mtu"] = fmt.Sprint(attrs.MTU)
	values["txqueuelen"] = fmt.Sprint(attrs.TxQLen)
	if attrs.GSOMaxSegs == oneFrame {
		values[gsoMaxSegs] = fmt.Sprint(attrs.GSOMaxSegs)
	}
	if attrs.NumTxQueues > 0 {
		values["tx_queues"] = fmt.Sprint(attrs.NumTxQueues)
		values["rx_queues"] = fmt.Sprint(attrs.NumRxQueues)
	}
}
