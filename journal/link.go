package journal

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/proc"
)

// removeLink deletes a device in the namespace of its holder, if that still lives
// and the device is the one that was made.
func (h Host) removeLink(entry Entry, holder *Entry) error {
	ns, err := h.namespaceOf(entry, holder)
	if ns == nil || err != nil {
		return err
	}
	defer ns.Close()
	handle, err := ns.Netlink()
	if err != nil {
		return err
	}
	defer handle.Close()
	device, err := handle.LinkByName(entry.Name)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find %s: %w", entry.Name, err)
	}
	if entry.Learnt != nil && entry.Learnt.Index != 0 && device.Attrs().Index != entry.Learnt.Index {
		h.note("device %s was replaced by somebody else; left alone", entry.Name)
		return nil
	}
	if err := handle.LinkDel(device); err != nil && !errors.As(err, new(netlink.LinkNotFoundError)) {
		return fmt.Errorf("delete %s: %w", entry.Name, err)
	}
	return nil
}

// namespaceOf is nil if the namespace is gone.
func (h Host) namespaceOf(entry Entry, holder *Entry) (*netns.Namespace, error) {
	if entry.Holder == 0 {
		return netns.Current()
	}
	if holder == nil || holder.Learnt == nil {
		return nil, nil
	}
	id := proc.Identity{PID: holder.Learnt.PID, StartTicks: holder.Learnt.StartTicks}
	if !id.Alive() {
		return nil, nil
	}
	ns, err := netns.OfProcess(id.PID)
	if err != nil && !id.Alive() {
		return nil, nil
	}
	return ns, err
}
