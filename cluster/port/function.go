package port

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/lab/link"
)

// moveFunction moves a port's virtual function into the pod:
//
//	ip link set VF netns POD name IF
//
// It needs no step of its own: the undo of takeFunction takes the function back from any namespace.
func moveFunction(ctx context.Context, s site, pod *netns.Namespace) (made netlink.Link, err error) {
	return made, s.onParent(func(node *netlink.Handle, card netlink.Link) error {
		attrs, err := s.attributes(card.Attrs().MTU)
		if err != nil {
			return err
		}
		name, err := s.onNode(ctx, node)
		if err != nil {
			return err
		}
		made, err = hand(node, pod, name, nodeName(s.Port.Name), attrs)
		return err
	})
}

// onNode returns the name of the function's interface on the node. If the interface is in an earlier namespace
// of the pod, onNode unbinds its driver and binds it again, which brings the interface back. It does so, too, if the
// interface came back by itself with the XDP program that it had in the pod.
func (s site) onNode(ctx context.Context, node *netlink.Handle) (string, error) {
	var bus pci.Bus
	address := functionIn(s.journal)
	name := bus.Interface(address)
	if name == "" || hasProgram(node, name) {
		if err := bus.Unbind(ctx, address); err != nil {
			return "", err
		}
		if err := bus.Probe(ctx, address, ""); err != nil {
			return "", err
		}
	}
	return bus.AwaitInterface(ctx, address)
}

// hasProgram returns true for an interface with an XDP program.
func hasProgram(node *netlink.Handle, name string) bool {
	device, err := node.LinkByName(name)
	return err == nil && device.Attrs().Xdp != nil && device.Attrs().Xdp.Attached
}

// functionIn returns the address of the function in a port's journal.
func functionIn(j *journal.Journal) string {
	for _, e := range j.Entries() {
		if e.Kind == link.KindFunction {
			return e.Path
		}
	}
	return ""
}

// FunctionUser names the user of pods' functions, so that labs of nines on the same node leave them alone.
const FunctionUser = "ports of pods"

// takeFunction sets up an existing virtual function, with the port's driver:
//
//	ip link set CARD up
//	ip link set CARD vf N mac MAC vlan VLAN
//
// Drivers need seconds for this, so it happens before the pod is made.
func takeFunction(ctx context.Context, s site, held *Held) (err error) {
	held.PCI, err = s.setFunctionUp(ctx)
	return err
}

// setFunctionUp sets the function up and returns its address.
func (s site) setFunctionUp(ctx context.Context) (address string, err error) {
	var bus pci.Bus
	driver := string(s.Port.Driver)
	if driver != "" {
		if err := bus.LoadDriver(ctx, driver); err != nil {
			return "", err
		}
	}
	card, err := addressOf(bus, s.Port.Parent)
	if err != nil {
		return "", err
	}
	index := s.Port.Function
	unlock, err := bus.Lock(ctx, card)
	if err != nil {
		return "", err
	}
	defer unlock()
	if card, address, err = s.Port.function(); err != nil {
		return "", err
	}
	claim := pci.Claim{Lab: FunctionUser, Token: s.journal.Token("function/" + address)}
	if err := bus.Free(address, claim.Token); err != nil {
		return "", err
	}
	now, err := bus.ReadPort(card)
	if err != nil {
		return "", err
	}
	use := journal.Step{Kind: link.KindPort, Path: card, Name: s.Port.Parent, Token: s.journal.Token("port/" + card)}
	err = s.journal.Make(use, func() (journal.Learnt, error) {
		return journal.Learnt{}, bus.JoinPort(ctx, card, use.Token, pci.Port{MTU: s.Port.MTU}, now)
	})
	if err != nil {
		return "", err
	}
	old, err := bus.ReadState(address, card, index)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(old)
	if err != nil {
		return "", err
	}
	wanted := *old.VF
	wanted.MAC = s.MAC
	if s.Port.VLAN > 0 { // otherwise it keeps the VLAN that it has
		wanted.VLAN = s.Port.VLAN
	}
	take := journal.Step{Kind: link.KindFunction, Link: s.Port.Name, Path: address, Target: card, Value: driver, Old: string(text), Token: claim.Token}
	err = s.journal.Make(take, func() (journal.Learnt, error) {
		return journal.Learnt{}, bus.Take(ctx, address, card, claim, pci.Wanted{Driver: driver, VF: &wanted})
	})
	if err != nil {
		return "", err
	}
	if driver != "" {
		return address, bus.CheckGroup(address, claim.Token)
	}
	_, err = bus.AwaitInterface(ctx, address)
	return address, err
}

// DeviceNodes returns the node's device files with which a program drives the function that it was given. Other
// ports have none.
func (h Held) DeviceNodes() []string {
	if h.Port.Driver == "" {
		return nil
	}
	return pci.Bus{}.FileNames(h.PCI)
}

// Card returns the PCI address of the card to which the port's function belongs; empty for other ports.
func (h Held) Card() string {
	if h.PCI == "" {
		return ""
	}
	return pci.Bus{}.AddressOf(h.Port.Parent)
}

// function returns the PCI addresses of a port's card and of its function.
func (p Port) function() (card, address string, err error) {
	var bus pci.Bus
	if card, err = addressOf(bus, p.Parent); err != nil {
		return "", "", err
	}
	if address = bus.VF(card, p.Function); address == "" {
		return "", "", fmt.Errorf("%s has no virtual function %d; create as many as the ports file lists (/sys/class/net/%s/device/sriov_numvfs)", p.Parent, p.Function, p.Parent)
	}
	return card, address, nil
}

// addressOf returns the PCI address of a card.
func addressOf(bus pci.Bus, card string) (string, error) {
	if address := bus.AddressOf(card); address != "" {
		return address, nil
	}
	return "", fmt.Errorf("%s is not a PCI card, so it has no virtual functions", card)
}

// hand moves an interface of the node into a pod, under a temporary name that neither of them uses.
func hand(node *netlink.Handle, pod *netns.Namespace, name, passing string, as netlink.LinkAttrs) (netlink.Link, error) {
	device, err := node.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", name, err)
	}
	if err := node.LinkSetDown(device); err != nil {
		return nil, fmt.Errorf("bring %s down: %w", name, err)
	}
	if device.Attrs().HardwareAddr.String() != as.HardwareAddr.String() {
		if err := node.LinkSetHardwareAddr(device, net.HardwareAddr(as.HardwareAddr)); err != nil {
			return nil, fmt.Errorf("set the MAC address of %s to %s: %w", name, as.HardwareAddr, err)
		}
	}
	if device.Attrs().MTU != as.MTU {
		if err := node.LinkSetMTU(device, as.MTU); err != nil {
			return nil, fmt.Errorf("set the MTU of %s to %d: %w", name, as.MTU, err)
		}
	}
	if err := node.LinkSetName(device, passing); err != nil {
		return nil, fmt.Errorf("rename %s: %w", name, err)
	}
	if err := node.LinkSetNsFd(device, pod.FD()); err != nil {
		return nil, fmt.Errorf("move %s into the pod: %w", name, err)
	}
	inside, err := pod.Netlink()
	if err != nil {
		return nil, err
	}
	defer inside.Close()
	if device, err = inside.LinkByName(passing); err != nil {
		return nil, fmt.Errorf("find %s in the pod: %w", name, err)
	}
	if err := inside.LinkSetName(device, as.Name); err != nil {
		return nil, fmt.Errorf("rename %s to %s in the pod: %w", name, as.Name, err)
	}
	return inside.LinkByName(as.Name)
}

// hasFunction reports whether the function of a step is in a pod.
func hasFunction(pod *netns.Namespace, e journal.Entry) (bool, error) {
	handle, err := pod.Netlink()
	if err != nil {
		return false, err
	}
	defer handle.Close()
	devices, err := netns.Whole(handle.LinkList)
	return slices.ContainsFunc(devices, func(d netlink.Link) bool { return d.Attrs().ParentDev == e.Path }), err
}
