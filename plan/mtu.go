package plan

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/host"
)

const (
	// frameOverhead is what a frame has besides the MTU: the Ethernet header and the FCS (IEEE
	// 802.3, 3.1.1).
	frameOverhead = 14 + 4
	defaultMTU    = 1500
	// ipv6LeastMTU is the lowest MTU with which the kernel allows IPv6 (RFC 8200, 5).
	ipv6LeastMTU = 1280
)

// MTUOf is the least MTU for frames of a size.
func MTUOf(frameBytes int) int { return frameBytes - frameOverhead }

// sizeLinks chooses each link's MTU: the user's, else what the traffic needs, but at least 1500
// unless a physical parent has less.
func (w *work) sizeLinks() error {
	for _, l := range w.links {
		if !l.addressed() {
			continue // the cluster has chosen it
		}
		need := 0
		if w.onPath(l) {
			need = MTUOf(w.stream.FrameBytes)
		}
		l.mtu = max(defaultMTU, need)
		if l.spec.MTU != 0 {
			l.mtu = l.spec.MTU
		}
		if l.mtu < need {
			return at(&Conflict{"link " + l.name, fmt.Sprintf("mtu %d is less than the %d of frames of %d bytes", l.mtu, need, w.stream.FrameBytes),
				fmt.Sprintf("remove mtu, or send frames of at most %d bytes", l.mtu+frameOverhead)}, l.steps("mtu"))
		}
		if err := w.fitParent(l, need); err != nil {
			w.refuse(at(err, l.steps("parent")))
		}
	}
	return nil
}

// fitParent checks a macvlan's parent on the host, and takes its MTU where that is
// less than the default.
func (w *work) fitParent(l *link, need int) error {
	if l.spec.Parent == "" {
		return nil
	}
	demand := fmt.Sprintf("link %s requests the parent %s", l.name, l.spec.Parent)
	if !slices.Contains(l.kind.Descriptor().Keys, "parent") {
		return &Conflict{"link " + l.name, fmt.Sprintf("kind %s takes no parent", l.kind), "use kind: macvlan, or remove parent"}
	}
	nic := w.parentNIC(l)
	if nic == nil {
		return &Impossible{demand, "the host has no such interface",
			"it has " + strings.Join(nicNames(w.inv), ", ") + "; or remove parent for a private one"}
	}
	if nic.Name == "lo" {
		return &Impossible{demand, "the kernel does not allow a macvlan on the loopback interface", "remove parent for a private one"}
	}
	if nic.Wireless {
		w.note("link %s is on the wireless %s: its nodes reach each other, but an access point drops frames from their addresses.", l.name, nic.Name)
	}
	if nic.MTU == 0 || nic.MTU >= l.mtu {
		return nil
	}
	if l.spec.MTU != 0 || nic.MTU < need {
		return &Impossible{demand, fmt.Sprintf("its MTU is %d and the link's %d", nic.MTU, l.mtu),
			fmt.Sprintf("ip link set %s mtu %d", nic.Name, l.mtu)}
	}
	w.note("link %s has MTU %d, as its parent %s does not support more.", l.name, nic.MTU, nic.Name)
	l.mtu = nic.MTU
	return nil
}

// checkIPv6MTUs refuses IPv6 addresses on links whose MTU is too small for IPv6.
func (w *work) checkIPv6MTUs() error {
	for _, l := range w.links {
		if l.mtu >= ipv6LeastMTU {
			continue
		}
		for _, e := range l.endpoints {
			for _, a := range e.addresses {
				if a.Addr().Is6() {
					return at(&Conflict{"link " + l.name, fmt.Sprintf("mtu %d is too small for %s of %s: IPv6 needs %d", l.mtu, a, e, ipv6LeastMTU),
						"raise it, or leave out the IPv6 address"}, l.steps("mtu"))
				}
			}
		}
	}
	return nil
}

// parentNIC is the host's interface under a link; nil if there is none.
func (w *work) parentNIC(l *link) *host.NIC {
	if l.spec.Parent == "" {
		return nil
	}
	i := slices.IndexFunc(w.inv.NICs, func(n host.NIC) bool { return n.Name == l.spec.Parent })
	if i < 0 {
		return nil
	}
	return &w.inv.NICs[i]
}

func nicNames(inv *host.Inventory) []string {
	var names []string
	for _, n := range inv.NICs {
		if n.Name != "lo" {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		names = []string{"none but lo"}
	}
	return names
}
