package port

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/folder"
	"nines.dev/nines/kernel/netns"
)

// Attach puts a port that the holder has taken into the pod whose network namespace is at path. If the
// device is already there, nothing changes. If it is in an earlier namespace of the pod, Attach makes it
// again. A port that is not an interface needs no Attach.
func (k Keeper) Attach(ctx context.Context, holder, name, path string) (Held, error) {
	held, err := k.find(holder, name)
	if err == nil && held.Port.HasInterface() {
		err = k.locked(ctx, held.Port.Parent, func() error {
			held, err = k.attach(ctx, held, path)
			return err
		})
	}
	if err != nil {
		return held, fmt.Errorf("attach port %s: %w", name, err)
	}
	return held, nil
}

// find returns a port that the holder has.
func (k Keeper) find(holder, name string) (Held, error) {
	all, err := k.Held()
	if err != nil {
		return Held{}, err
	}
	for _, held := range all {
		if held.Port.Name == name && held.Holder == holder && held.Done {
			return held, nil
		}
	}
	return Held{}, &NotHeldError{Port: name, Holder: holder}
}

// attach does the work of Attach; the caller holds the lock.
func (k Keeper) attach(ctx context.Context, held Held, path string) (Held, error) {
	open, err := folder.Take(k.place(held.Port.Parent, held.Port.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return held, &NotHeldError{Port: held.Port.Name, Holder: held.Holder}
	}
	if err != nil {
		return held, err
	}
	now, err := k.read(held.Port.Parent, held.Port.Name)
	if err == nil && now.Holder != held.Holder {
		err = &TakenError{Port: held.Port.Name, By: now.Order}
	}
	if err == nil {
		err = open.Journal.Damaged()
	}
	if err == nil {
		now, err = k.into(ctx, now, open.Journal, path)
	}
	return now, errors.Join(err, open.Close())
}

// into makes a port's device in the namespace at path. If that fails, it leaves nothing behind.
func (k Keeper) into(ctx context.Context, held Held, j *journal.Journal, path string) (Held, error) {
	pod, err := netns.Open(path)
	if err != nil {
		return held, err
	}
	defer pod.Close()
	cookie, err := pod.Cookie()
	if err != nil {
		return held, err
	}
	is, err := there(pod, j)
	if err != nil || is && held.Cookie == cookie {
		return held, err
	}
	// If this process is killed before the device is configured, the record must not say that it is attached.
	if held.Cookie != 0 {
		held.Namespace, held.Cookie = "", 0
		if err := k.write(held); err != nil {
			return held, err
		}
	}
	if err := k.detach(ctx, j); err != nil {
		return held, err
	}
	s := k.site(held.Order, j)
	device, err := kinds[held.Port.Tier].device(ctx, s, pod)
	if err == nil {
		err = s.configure(ctx, pod, device)
	}
	if ready := kinds[held.Port.Tier].ready; err == nil && ready != nil {
		err = ready(s, pod)
	}
	if err == nil && held.Port.AFXDP {
		err = s.giveSockets(pod, device)
	}
	if err == nil {
		held.Namespace, held.Cookie = path, cookie
		held.Size = device.Attrs().MTU
		err = k.write(held)
	}
	if err != nil {
		return held, errors.Join(err, k.detach(context.WithoutCancel(ctx), j))
	}
	return held, nil
}

// Await waits until a port passes packets, for tiers whose device does not show that.
func (k Keeper) Await(ctx context.Context, held Held) error {
	if await := kinds[held.Port.Tier].await; await != nil {
		return await(ctx, k.site(held.Order, nil))
	}
	return nil
}

// detach undoes what Attach has made for a port, and nothing else.
func (k Keeper) detach(ctx context.Context, j *journal.Journal) error {
	return j.Undo(ctx, k.Note, func(e journal.Entry) bool { return e.Kind == KindDevice || e.Kind == KindOVSPort })
}

// configure gives the device its addresses and routes, and brings it up:
//
//	ip -n POD address add ADDRESS dev IF; ip -n POD link set IF up; ip -n POD route add TO via VIA dev IF
func (s site) configure(ctx context.Context, pod *netns.Namespace, device netlink.Link) error {
	handle, err := pod.Netlink()
	if err != nil {
		return err
	}
	defer handle.Close()
	for _, a := range s.All() {
		// No other port of the network has this address, so duplicate address detection is not needed.
		address := &netlink.Addr{IPNet: ipNet(a), Flags: unix.IFA_F_NODAD}
		if a.Addr().Is4() {
			address.Flags = 0
		}
		if err := handle.AddrAdd(device, address); err != nil {
			return fmt.Errorf("give %s the address %s: %w", s.Interface, a, err)
		}
	}
	err = handle.LinkSetUp(device)
	if errors.Is(err, unix.EADDRINUSE) {
		// In the pod's previous namespace, the kernel has not yet taken down the device with the same MAC
		// address (macvlan_open in drivers/net/macvlan.c).
		if err = netns.Settle(ctx); err == nil {
			err = handle.LinkSetUp(device)
		}
	}
	if err != nil {
		return fmt.Errorf("bring %s up: %w", s.Interface, err)
	}
	for _, r := range s.Routes {
		route := &netlink.Route{LinkIndex: device.Attrs().Index, Dst: ipNet(r.To.Masked())}
		if r.Via.IsValid() {
			route.Gw = r.Via.AsSlice()
		} else {
			route.Scope = netlink.SCOPE_LINK
		}
		if err := handle.RouteAdd(route); err != nil {
			return fmt.Errorf("add the route to %s through %s: %w", r.To, s.Interface, err)
		}
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// Check returns nil if a device is still where it was attached. CNI's CHECK uses it.
func (k Keeper) Check(holder, name, path string) error {
	held, err := k.find(holder, name)
	if err != nil || !held.Port.HasInterface() {
		return err
	}
	j, err := journal.Read(k.place(held.Port.Parent, held.Port.Name).Journal())
	if err != nil {
		return err
	}
	pod, err := netns.Open(path)
	if err != nil {
		return err
	}
	defer pod.Close()
	cookie, err := pod.Cookie()
	if err != nil {
		return err
	}
	is, err := there(pod, j)
	if err == nil && (!is || cookie != held.Cookie) {
		err = fmt.Errorf("port %s: its device %s is not in %s", name, held.Interface, path)
	}
	return err
}
