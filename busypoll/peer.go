package busypoll

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/netns"
)

// device is a device of a namespace; for a veth with its other end.
type device struct {
	name  string
	kind  string // the kernel's link kind: "veth"; empty for a network card
	index int
	peer  *peer // nil except for a veth
}

// peer is the other end of a veth pair, in any namespace.
type peer struct {
	ns   *netns.Namespace
	name string
}

func (d device) close() error {
	if d.peer == nil {
		return nil
	}
	return d.peer.ns.Close()
}

// devicesOf finds the devices with these names. Without names it finds all that are up and
// can be polled: no loopback, and no virtual device on top of others.
func devicesOf(ns *netns.Namespace, names []string) (list []device, err error) {
	handle, err := ns.Netlink()
	if err != nil {
		return nil, err
	}
	defer handle.Close()
	all, err := netns.Whole(handle.LinkList)
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	links, err := selectLinks(all, names)
	if err != nil {
		return nil, err
	}
	for _, link := range links {
		d := device{name: link.Attrs().Name, kind: link.Type(), index: link.Attrs().Index}
		if d.kind == "device" {
			d.kind = ""
		}
		if d.kind == "veth" {
			if d.peer, err = peerOf(ns, handle, link); err != nil {
				err = fmt.Errorf("interface %q: %w", d.name, err)
				for _, made := range list {
					err = errors.Join(err, made.close())
				}
				return nil, err
			}
		}
		list = append(list, d)
	}
	return list, nil
}

// selectLinks returns the links with these names, or without names those that can be
// polled.
func selectLinks(all []netlink.Link, names []string) (links []netlink.Link, err error) {
	for _, name := range names {
		at := slices.IndexFunc(all, func(l netlink.Link) bool { return l.Attrs().Name == name })
		if at < 0 {
			return nil, exit.Wrongf("interface %q does not exist; the interfaces are %s", name, interfacesText(all))
		}
		link := all[at]
		switch {
		case isLoopback(link):
			return nil, exit.Wrongf("interface %q is the loopback, which has no NAPI instance; name another: %s", name, interfacesText(all))
		case !isUp(link):
			return nil, exit.Wrongf("interface %q is down, and has no NAPI instance; set it up first (ip link set %s up)", name, name)
		}
		links = append(links, link)
	}
	if len(names) > 0 {
		return links, nil
	}
	for _, link := range all {
		if pollable(link) {
			links = append(links, link)
		}
	}
	if len(links) == 0 {
		return nil, exit.Wrongf("the namespace has no interface that is up and can be polled; its interfaces: %s", interfacesText(all))
	}
	return links, nil
}

// interfacesText lists a namespace's interfaces.
func interfacesText(all []netlink.Link) string {
	words := make([]string, len(all))
	for i, link := range all {
		words[i] = link.Attrs().Name
		if !isUp(link) {
			words[i] += " (down)"
		}
	}
	return strings.Join(words, ", ")
}

func isUp(link netlink.Link) bool { return link.Attrs().Flags&net.FlagUp != 0 }

func isLoopback(link netlink.Link) bool { return link.Attrs().Flags&net.FlagLoopback != 0 }

// pollable excludes the loopback, devices that are down, and kinds that pass packets on
// without a NAPI instance.
func pollable(link netlink.Link) bool {
	if !isUp(link) || isLoopback(link) {
		return false
	}
	switch link.Type() {
	case "veth", "tuntap", "tun", "device":
		return true
	}
	return false
}

// errNoPeer is for a veth whose other end is in a namespace that has no name left.
var errNoPeer = errors.New("the other end of the veth pair is in a network namespace that no process and no name of ip-netns(8) has")

// peerOf finds the other end of a veth pair by its index and its namespace, which this
// namespace knows by a number (IFLA_LINK_NETNSID).
func peerOf(ns *netns.Namespace, handle *netlink.Handle, link netlink.Link) (*peer, error) {
	attrs := link.Attrs()
	if attrs.NetNsID < 0 {
		far, err := handle.LinkByIndex(attrs.ParentIndex)
		if err != nil {
			return nil, fmt.Errorf("find the other end: %w", err)
		}
		same, err := netns.Open(ns.Path())
		if err != nil {
			return nil, err
		}
		return &peer{same, far.Attrs().Name}, nil
	}
	paths, err := netns.Paths()
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		candidate, err := netns.Open(path)
		if err != nil {
			continue // it has ended
		}
		if id, err := handle.GetNetNsIdByFd(candidate.FD()); err != nil || id != attrs.NetNsID {
			_ = candidate.Close() // another namespace
			continue
		}
		far, err := candidate.Netlink()
		if err != nil {
			return nil, errors.Join(err, candidate.Close())
		}
		defer far.Close()
		end, err := far.LinkByIndex(attrs.ParentIndex)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("find the other end: %w", err), candidate.Close())
		}
		return &peer{candidate, end.Attrs().Name}, nil
	}
	return nil, errNoPeer
}
