package link

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
)

// Redirecting is what a node's interfaces say of redirects by XDP.
type Redirecting struct {
	// Program is the interface with a program of the node's own that its driver runs (native mode) and that may redirect,
	// or send back; empty: none has. What a generic one redirects goes the way of all packets.
	Program string
	// Refusing are the interfaces, ends of veth pairs, that take no frames of such a program.
	Refusing []string
}

// RedirectingOf looks at a node's interfaces.
func RedirectingOf(h Holder, interfaces []plan.Interface) (seen Redirecting, err error) {
	err = inside(h, func(ns *netns.Namespace, handle *netlink.Handle) error {
		for _, i := range interfaces {
			device, err := handle.LinkByName(i.Name)
			if errors.As(err, new(netlink.LinkNotFoundError)) {
				continue
			}
			if err != nil {
				return fmt.Errorf("find %s: %w", i.Name, err)
			}
			if xdp := device.Attrs().Xdp; xdp != nil && xdp.Attached && xdp.AttachMode == nl.XDP_ATTACHED_DRV && seen.Program == "" {
				redirects, err := mayRedirect(ebpf.ProgramID(xdp.ProgId))
				if err != nil {
					return err
				}
				if redirects {
					seen.Program = i.Name
				}
			}
			if device.Type() != "veth" {
				continue
			}
			var takes bool
			if err := ns.Do(func() (err error) {
				takes, err = napi.TakesRedirects(i.Name)
				return err
			}); err != nil {
				return err
			}
			if !takes {
				seen.Refusing = append(seen.Refusing, i.Name)
			}
		}
		return nil
	})
	return seen, err
}

// mayRedirect is false for a program that gives frames to AF_XDP sockets, which send by the ordinary way.
func mayRedirect(id ebpf.ProgramID) (bool, error) {
	program, err := ebpf.NewProgramFromID(id)
	if errors.Is(err, unix.ENOENT) {
		return false, nil // it has been detached since
	}
	if err != nil {
		return false, fmt.Errorf("open the XDP program %d: %w", id, err)
	}
	defer program.Close()
	info, err := program.Info()
	if err != nil {
		return false, fmt.Errorf("read the XDP program %d: %w", id, err)
	}
	maps, _ := info.MapIDs()
	for _, one := range maps {
		m, err := ebpf.NewMapFromID(one)
		if err != nil {
			continue
		}
		sockets := m.Type() == ebpf.XSKMap
		_ = m.Close()
		if sockets {
			return false, nil
		}
	}
	return true, nil
}

// TakesFrames turns GRO on at a device, or off: with it a veth has NAPI, and its other end takes the frames that XDP
// programs redirect (veth_xdp_xmit in drivers/net/veth.c). It returns the settings that it then has.
func TakesFrames(h Holder, device string, on bool) (values map[string]string, err error) {
	err = inside(h, func(ns *netns.Namespace, _ *netlink.Handle) error {
		e, err := openEthtool(ns)
		if err != nil {
			return err
		}
		defer e.close()
		values, err = e.apply(device, offloads{{featureGRO, on}})
		return err
	})
	return values, err
}

// Opposite is the device at the other end of a veth pair, in a node, or in the fabric, whose name is empty. It is false
// where that end is in a namespace of the link's own, or is no device of this host's kernel.
func Opposite(l plan.Link, e plan.Endpoint) (node, device string, ok bool) {
	switch {
	case e.FabricDevice != "":
		return "", e.FabricDevice, !kinds[l.Kind].OwnNamespace
	case len(l.Endpoints) != 2:
		return "", "", false
	}
	for _, other := range l.Endpoints {
		if other.Node != e.Node || other.Interface != e.Interface {
			return other.Node, other.Interface, !other.Guest && other.Attach == ""
		}
	}
	return "", "", false
}

// PlansGRO is true where the plan has GRO on at a device of a link, in a node or in the fabric.
func PlansGRO(l plan.Link, node string) bool {
	return l.GRO || node != "" && kinds[l.Kind].Redirects && !l.Impaired()
}
