package port

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/link"
)

// KindDevice is a device, Name, of the type Target and with the MAC address Value, in the network
// namespace found by Path and Cookie. A pod may rename its device, so undo finds it by its index once
// that is known.
var KindDevice = journal.Register("port device", journal.Undo{Step: removeDevice})

// add journals a device and makes it: from the namespace of its parent, into the namespace in.
func (s site) add(from *netlink.Handle, in *netns.Namespace, device netlink.Link) (netlink.Link, error) {
	cookie, err := in.Cookie()
	if err != nil {
		return nil, err
	}
	step := journal.Step{
		Kind: KindDevice, Path: in.Path(), Cookie: cookie,
		Name: device.Attrs().Name, Target: device.Type(), Value: device.Attrs().HardwareAddr.String(),
	}
	handle, err := in.Netlink()
	if err != nil {
		return nil, err
	}
	defer handle.Close()
	if _, err := handle.LinkByName(step.Name); err == nil {
		return nil, fmt.Errorf("an interface %s already exists; choose another name", step.Name)
	}
	var made netlink.Link
	err = s.journal.Make(step, func() (journal.Learnt, error) {
		if err := from.LinkAdd(device); err != nil {
			return journal.Learnt{}, fmt.Errorf("add %s %s: %w", device.Type(), step.Name, err)
		}
		var err error
		if made, err = handle.LinkByName(step.Name); err != nil {
			return journal.Learnt{}, fmt.Errorf("find %s: %w", step.Name, err)
		}
		return journal.Learnt{Index: made.Attrs().Index}, nil
	})
	return made, err
}

// removeDevice finds the namespace of a step and deletes its device there.
func removeDevice(_ context.Context, u journal.Undoing) error {
	ns, err := netns.Find(u.Path, u.Cookie)
	if ns == nil || err != nil {
		return err // the device disappeared with its namespace
	}
	defer ns.Close()
	handle, err := ns.Netlink()
	if err != nil {
		return err
	}
	defer handle.Close()
	device, err := lookUp(handle, u.Entry)
	if device == nil || err != nil {
		return err
	}
	if !isOurs(device, u.Entry) {
		u.Notef("device %s was replaced by another program; left as it is", u.Name)
		return nil
	}
	if err := handle.LinkDel(device); err != nil && !errors.As(err, new(netlink.LinkNotFoundError)) {
		return fmt.Errorf("delete %s: %w", u.Name, err)
	}
	return nil
}

// lookUp finds the device of a step; nil if it does not exist.
func lookUp(handle *netlink.Handle, e journal.Entry) (device netlink.Link, err error) {
	if e.Learnt != nil {
		device, err = handle.LinkByIndex(e.Learnt.Index)
	} else {
		device, err = handle.LinkByName(e.Name)
	}
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", e.Name, err)
	}
	return device, nil
}

// isOurs reports whether a device is the one that a step made. The kernel does not reuse an index while the
// namespace exists. The MAC address is no proof, as a pod may change that of its device.
func isOurs(device netlink.Link, e journal.Entry) bool {
	return device.Type() == e.Target && (e.Learnt != nil || device.Attrs().HardwareAddr.String() == e.Value)
}

// there returns true if a port has a device or function, and all that it has still exist. If one cannot be
// checked, that is an error: the caller must not make a device again in a running pod that still has it.
func there(pod *netns.Namespace, j *journal.Journal) (bool, error) {
	any := false
	for _, e := range j.Entries() {
		has := hasDevice
		switch e.Kind {
		case KindDevice:
		case link.KindFunction:
			has = func(e journal.Entry) (bool, error) { return hasFunction(pod, e) }
		default:
			continue
		}
		if is, err := has(e); err != nil || !is {
			return false, err
		}
		any = true
	}
	return any, nil
}

// hasDevice returns true if the device of a step is where it was made.
func hasDevice(e journal.Entry) (bool, error) {
	ns, err := netns.Find(e.Path, e.Cookie)
	if ns == nil || err != nil || e.Learnt == nil {
		return false, err
	}
	defer ns.Close()
	handle, err := ns.Netlink()
	if err != nil {
		return false, err
	}
	defer handle.Close()
	device, err := lookUp(handle, e)
	return device != nil && isOurs(device, e), err
}

// madeMAC returns a MAC address that is unique to this holder and port: locally administered and unicast
// (IEEE 802, 8.2.2).
func madeMAC(holder, port string) string {
	sum := sha256.Sum256([]byte(holder + "\x00" + port))
	return net.HardwareAddr{sum[0]&^1 | 2, sum[1], sum[2], sum[3], sum[4], sum[5]}.String()
}

// nodeName returns the name of a port's device on its node: short, and different for each port.
func nodeName(port string) string {
	sum := sha256.Sum256([]byte(port))
	return "np" + hex.EncodeToString(sum[:5])
}
