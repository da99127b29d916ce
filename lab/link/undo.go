package link

import (
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/netns"
)

// KindLink is a device, Name, in the network namespace of the process that step Holder started; it
// is removed with that process, or on its own. Target is the other end of a pair, if that is on the host.
var KindLink = journal.Register("link", journal.Undo{Step: removeDevice})

// removeDevice deletes the device of a step.
func removeDevice(_ context.Context, u journal.Undoing) error {
	return withDevice(u, func(handle *netlink.Handle, device netlink.Link) error {
		if err := handle.LinkDel(device); err != nil && !errors.As(err, new(netlink.LinkNotFoundError)) {
			return fmt.Errorf("delete %s: %w", u.Name, err)
		}
		return nil
	})
}

// withDevice calls f with the device of a step in the namespace of its holder, if the holder still
// lives and the device is the one that the step made.
func withDevice(u journal.Undoing, f func(*netlink.Handle, netlink.Link) error) error {
	ns, err := namespaceOf(u)
	if ns == nil || err != nil {
		return err
	}
	defer ns.Close()
	handle, err := ns.Netlink()
	if err != nil {
		return err
	}
	defer handle.Close()
	device, err := handle.LinkByName(u.Name)
	if errors.As(err, new(netlink.LinkNotFoundError)) && u.Holder != 0 && u.Learnt != nil && u.Learnt.Index != 0 {
		// In a namespace of the lab, where someone may have given it another name. The kernel gives no
		// index twice.
		device, err = handle.LinkByIndex(u.Learnt.Index)
	}
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find %s: %w", u.Name, err)
	}
	if u.Learnt != nil && u.Learnt.Index != 0 && device.Attrs().Index != u.Learnt.Index {
		u.Notef("device %s was replaced by another program; left as it is", u.Name)
		return nil
	}
	return f(handle, device)
}

// namespaceOf is nil if the namespace is gone.
func namespaceOf(u journal.Undoing) (*netns.Namespace, error) {
	if u.Holder == 0 {
		return netns.Current()
	}
	if u.Starter == nil {
		return nil, nil
	}
	id := process.Of(*u.Starter)
	if !id.Alive() {
		return nil, nil
	}
	ns, err := netns.OfProcess(id.PID)
	if err != nil && !id.Alive() {
		return nil, nil
	}
	return ns, err
}
