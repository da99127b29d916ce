package cni

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"nines.dev/nines/cluster/port"
)

// Plugin answers CNI's calls.
type Plugin struct {
	// Context ends a call that takes too long.
	Context context.Context
	// Note receives what stays as it is, and why.
	Note func(string)
}

// Functions returns the plugin's functions for CNI's plugin library.
func (p Plugin) Functions() skel.CNIFuncs {
	return skel.CNIFuncs{Add: p.add, Del: p.del, Check: p.check, GC: p.gc, Status: p.status}
}

func (p Plugin) keeper(n *Network) port.Keeper { return port.Keeper{Folder: n.Folder, Note: p.Note} }

// add attaches a container to a network. It gets the addresses first, because the port's device receives them
// when it is made.
func (p Plugin) add(args *skel.CmdArgs) error {
	n, err := Read(args.StdinData)
	if err != nil {
		return err
	}
	order, err := n.order(args)
	if err != nil {
		return err
	}
	result, err := n.previous()
	if err != nil {
		return err
	}
	given := &current.Result{}
	if !n.IPAM.IsEmpty() {
		if given, err = p.addresses(args, n); err != nil {
			return err
		}
	}
	order.Addresses, order.Routes, err = wanted(given)
	var held port.Held
	if err == nil {
		held, err = p.attach(n, order, args.Netns)
	}
	if err != nil {
		return errors.Join(err, p.release(args, n))
	}
	if err := writeDeviceInfo(n.RuntimeConfig.DeviceInfo, held); err != nil {
		return errors.Join(err, p.giveBack(n, args), p.release(args, n))
	}
	return types.PrintResult(merge(result, given, p.keeper(n), held, args.Netns), n.CNIVersion)
}

// addresses gets addresses from the network's IPAM plugin.
func (p Plugin) addresses(args *skel.CmdArgs, n *Network) (*current.Result, error) {
	result, err := invoke.DelegateAdd(p.Context, n.IPAM.Type, args.StdinData, nil)
	if err != nil {
		return nil, fmt.Errorf("get addresses from the IPAM plugin %s: %w", n.IPAM.Type, err)
	}
	given, err := current.NewResultFromResult(result)
	if err == nil && len(given.IPs) == 0 {
		err = fmt.Errorf("the IPAM plugin %s gave no address", n.IPAM.Type)
	}
	if err != nil {
		return nil, errors.Join(err, p.release(args, n))
	}
	return given, nil
}

// release gives back the addresses of an attachment.
func (p Plugin) release(args *skel.CmdArgs, n *Network) error {
	if n.IPAM.IsEmpty() {
		return nil
	}
	if err := invoke.DelegateDel(p.Context, n.IPAM.Type, args.StdinData, nil); err != nil {
		return fmt.Errorf("release addresses with the IPAM plugin %s: %w", n.IPAM.Type, err)
	}
	return nil
}

// releaseOf does the same for a lost attachment, "CONTAINER/INTERFACE", because not every IPAM plugin collects
// lost addresses. The plugin reads the attachment from the environment, as if a runtime called it.
func (p Plugin) releaseOf(lost string, args *skel.CmdArgs, n *Network) error {
	container, device, _ := strings.Cut(lost, "/")
	err := errors.Join(os.Setenv("CNI_CONTAINERID", container), os.Setenv("CNI_IFNAME", device))
	if err != nil {
		return err
	}
	return p.release(args, n)
}

// attach takes the port, if necessary again, and puts it into the container.
func (p Plugin) attach(n *Network, order port.Order, netns string) (port.Held, error) {
	k := p.keeper(n)
	held, err := k.Take(p.Context, order)
	if err != nil {
		return held, err
	}
	if !order.Port.IsSocket() {
		if held, err = k.Attach(p.Context, order.Holder, order.Port.Name, netns); err != nil {
			return held, errors.Join(err, k.GiveBack(p.Context, order.Holder))
		}
	}
	if n.DeviceID == "" {
		_, err = k.Show(p.Context, order.Pod.UID)
	} else {
		err = k.Lead(p.Context, order.Port, order.Pod.UID)
	}
	if err != nil {
		return held, errors.Join(err, k.GiveBack(p.Context, order.Holder))
	}
	return held, nil
}

// del gives back what an attachment has. CNI may call it again for an attachment that is gone, and without
// the container's namespace.
func (p Plugin) del(args *skel.CmdArgs) error {
	n, err := Read(args.StdinData)
	if err != nil {
		return err
	}
	return errors.Join(p.giveBack(n, args), p.release(args, n), removeDeviceInfo(n.RuntimeConfig.DeviceInfo))
}

func (p Plugin) giveBack(n *Network, args *skel.CmdArgs) error {
	return giveBackOf(p.Context, p.keeper(n), n.holder(args.ContainerID, args.IfName))
}

// giveBackOf gives back all ports of a holder, and updates its pod's list of ports.
func giveBackOf(ctx context.Context, k port.Keeper, holder string) error {
	held, err := k.Held()
	if err != nil {
		return err
	}
	if err := k.GiveBack(ctx, holder); err != nil {
		return err
	}
	var failures []error
	for _, h := range held {
		if h.Holder == holder {
			_, err := k.Show(ctx, h.Pod.UID)
			failures = append(failures, err, k.Forget(ctx, h.Port.Name))
		}
	}
	return errors.Join(failures...)
}

// check fails if an attachment differs from what add has made.
func (p Plugin) check(args *skel.CmdArgs) error {
	n, err := Read(args.StdinData)
	if err != nil {
		return err
	}
	if n.PrevResult == nil {
		return wrong("network %q: CHECK needs the result of ADD (prevResult)", n.Name)
	}
	k, holder := p.keeper(n), n.holder(args.ContainerID, args.IfName)
	all, err := k.Held()
	if err != nil {
		return err
	}
	found := 0
	for _, h := range all {
		if h.Holder != holder || !h.Done {
			continue
		}
		found++
		if err := k.Check(holder, h.Port.Name, args.Netns); err != nil {
			return err
		}
	}
	if found == 0 {
		return fmt.Errorf("container %s has no port of network %q", args.ContainerID, n.Name)
	}
	if n.IPAM.IsEmpty() {
		return nil
	}
	return invoke.DelegateCheck(p.Context, n.IPAM.Type, args.StdinData, nil)
}

// gc gives back the ports of attachments that no longer exist.
func (p Plugin) gc(args *skel.CmdArgs) error {
	n, err := Read(args.StdinData)
	if err != nil {
		return err
	}
	valid := map[string]bool{}
	for _, a := range n.ValidAttachments {
		valid[n.holder(a.ContainerID, a.IfName)] = true
	}
	k := p.keeper(n)
	held, err := k.Held()
	if err != nil {
		return err
	}
	var failures []error
	for _, h := range held {
		lost, ours := strings.CutPrefix(h.Holder, n.holders())
		if !ours || valid[h.Holder] {
			continue
		}
		failures = append(failures, giveBackOf(p.Context, k, h.Holder), p.releaseOf(lost, args, n))
	}
	if !n.IPAM.IsEmpty() {
		failures = append(failures, invoke.DelegateGC(p.Context, n.IPAM.Type, args.StdinData, nil))
	}
	return errors.Join(failures...)
}

// status fails if the node cannot attach containers to the network now.
func (p Plugin) status(args *skel.CmdArgs) error {
	n, err := Read(args.StdinData)
	if err != nil {
		return err
	}
	if err := n.port("status").Available(p.Context); err != nil {
		return types.NewError(types.ErrPluginNotAvailable, err.Error(), "")
	}
	if n.IPAM.IsEmpty() {
		return nil
	}
	return invoke.DelegateStatus(p.Context, n.IPAM.Type, args.StdinData, nil)
}

// wanted returns the addresses and routes that an IPAM plugin has given.
func wanted(given *current.Result) (addresses []netip.Prefix, routes []port.Route, err error) {
	for _, ip := range given.IPs {
		prefix, err := prefixOf(ip.Address)
		if err != nil {
			return nil, nil, err
		}
		addresses = append(addresses, prefix)
	}
	for _, r := range given.Routes {
		to, err := prefixOf(r.Dst)
		if err != nil {
			return nil, nil, err
		}
		via := r.GW
		for _, ip := range given.IPs { // as CNI's own plugins do: the gateway of the first address that has one
			if via == nil && ip.Gateway != nil && (ip.Gateway.To4() != nil) == to.Addr().Is4() {
				via = ip.Gateway
			}
		}
		hop, _ := netip.AddrFromSlice(via)
		routes = append(routes, port.Route{To: to, Via: hop.Unmap()})
	}
	return addresses, routes, nil
}

func prefixOf(n net.IPNet) (netip.Prefix, error) {
	address, ok := netip.AddrFromSlice(n.IP)
	bits, size := n.Mask.Size()
	if !ok || size == 0 {
		return netip.Prefix{}, fmt.Errorf("the IPAM plugin gave %s, which is not an address with a prefix length", n.String())
	}
	if address.Is4In6() && size == net.IPv6len*8 {
		bits -= (net.IPv6len - net.IPv4len) * 8
	}
	return netip.PrefixFrom(address.Unmap(), bits), nil
}

// merge returns the result of add: what the plugins before have made, and the port.
func merge(before, given *current.Result, k port.Keeper, held port.Held, netns string) *current.Result {
	result := before
	if result == nil {
		result = &current.Result{DNS: given.DNS}
	}
	result.CNIVersion = current.ImplementedSpecVersion
	at := len(result.Interfaces)
	result.Interfaces = append(result.Interfaces, seenAs(k, held, netns))
	for _, ip := range given.IPs {
		ip.Interface = &at
		result.IPs = append(result.IPs, ip)
	}
	result.Routes = append(result.Routes, given.Routes...)
	return result
}

func seenAs(k port.Keeper, held port.Held, netns string) *current.Interface {
	if held.Port.IsSocket() {
		return &current.Interface{Name: held.Port.Name, Mac: held.MAC, Mtu: held.Port.MTU, SocketPath: k.SocketPath(held.Port)}
	}
	return &current.Interface{Name: held.Interface, Mac: held.MAC, Mtu: held.Size, Sandbox: netns}
}
