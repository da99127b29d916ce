package link

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/fault"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
)

// UplinkLedger is the file in which the labs of a host record which of them use an interface's hooks.
const UplinkLedger = "/run/nines/uplinks.json"

// uplinkUses is the content of the ledger: by namespace and interface.
type uplinkUses struct {
	Uplinks map[string]*uplinkUse `json:"uplinks"`
}

type uplinkUse struct {
	// Made is true if nines has made the hooks.
	Made bool `json:"made"`
	// Labs are the journals of those that use them.
	Labs map[string]bool `json:"labs"`
}

// Empty is true if no lab uses an interface.
func (u *uplinkUses) Empty() bool { return len(u.Uplinks) == 0 }

func (u *uplinkUses) of(step journal.Step) (key string, use *uplinkUse) {
	key = fmt.Sprintf("%d/%s", step.Cookie, step.Old)
	if use = u.Uplinks[key]; use == nil {
		use = &uplinkUse{Labs: map[string]bool{}}
	}
	return key, use
}

// useHooks records the lab's use of the uplink's hooks, and makes them where there are none.
func useHooks(handle *netlink.Handle, step journal.Step, uplink netlink.Link, uses *uplinkUses, save func() error) error {
	has, err := hasHooks(handle, uplink)
	if err != nil {
		return err
	}
	key, use := uses.of(step)
	use.Made = use.Made || !has
	use.Labs[step.Value] = true
	if uses.Uplinks == nil {
		uses.Uplinks = map[string]*uplinkUse{}
	}
	uses.Uplinks[key] = use
	if err := save(); err != nil || has {
		return err
	}
	fault.Point("before the uplink has hooks")
	return makeHooks(handle, uplink)
}

// makeHooks makes a device's hooks, if it has none: tc qdisc add dev DEVICE clsact
func makeHooks(handle *netlink.Handle, device netlink.Link) error {
	hooks := &netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: device.Attrs().Index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT,
	}}
	err := handle.QdiscAdd(hooks)
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	if isAbsent(err) || isUnsupported(err) {
		return missingHooks("the kernel has no queueing discipline clsact", err)
	}
	return err
}

// hasHooks is true for a device with the hooks. The older ingress is in their place, and has only one.
func hasHooks(handle *netlink.Handle, device netlink.Link) (bool, error) {
	list, err := netns.Whole(func() ([]netlink.Qdisc, error) { return handle.QdiscList(device) })
	if err != nil {
		return false, fmt.Errorf("list the queueing disciplines of %s: %w", device.Attrs().Name, err)
	}
	for _, q := range list {
		switch q.Type() {
		case "clsact":
			return true, nil
		case "ingress":
			return false, exit.Wrongf("%s has the queueing discipline ingress, instead of clsact, which the management network needs; find out what uses it (tc filter show dev %s ingress), and have that program use clsact, which does the same and more",
				device.Attrs().Name, device.Attrs().Name)
		}
	}
	return false, nil
}

func removeHooks(handle *netlink.Handle, uplink netlink.Link) error {
	list, err := netns.Whole(func() ([]netlink.Qdisc, error) { return handle.QdiscList(uplink) })
	if err != nil {
		return err
	}
	for _, q := range list {
		if q.Type() != "clsact" {
			continue
		}
		if err := handle.QdiscDel(q); err != nil && !isAbsent(err) && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("remove clsact of %s: %w", uplink.Attrs().Name, err)
		}
	}
	return nil
}
