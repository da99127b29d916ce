package journal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/netns"
)

// DeviceSetting is something of a device that shall have a value.
type DeviceSetting struct {
	// Namespace is the device's; by Path and Cookie it is found again.
	Namespace *netns.Namespace
	Device    string
	Setting   napi.Setting
	Value     string
	// Node and Link are the step's.
	Node, Link string
}

// MakeDeviceSetting sets something of a device, through the journal. If it has the value
// already nothing is written, and changed is false. A value that the kernel refuses is a
// RefusedError, and nothing is journalled; so is one that it quietly did not take.
func (j *Journal) MakeDeviceSetting(s DeviceSetting) (changed bool, err error) {
	cookie, err := s.Namespace.Cookie()
	if err != nil {
		return false, err
	}
	err = s.Namespace.Do(func() error {
		device, err := netlink.LinkByName(s.Device)
		if err != nil {
			return fmt.Errorf("find %s: %w", s.Device, err)
		}
		step := Step{
			Kind: KindDevice, Node: s.Node, Link: s.Link, Path: s.Namespace.Path(), Cookie: cookie,
			Name: s.Device, Target: string(s.Setting), Value: s.Value,
		}
		if step.Old, err = s.Setting.Read(s.Device); err != nil || step.Old == s.Value {
			return err
		}
		id, err := j.Begin(step)
		if err != nil {
			return err
		}
		if err := s.Setting.Write(s.Device, s.Value); err != nil {
			j.forget([]int{id})
			return &RefusedError{Path: s.Device + " " + string(s.Setting), Value: s.Value, Err: err}
		}
		changed = true
		took, err := s.Setting.Read(s.Device)
		if err != nil {
			return err
		}
		return j.Done(id, Learnt{Index: device.Attrs().Index, Took: took})
	})
	return changed, err
}

// demoted tells whether a polling thread's placement, "fifo:10@2", is ours but for the
// policy, which nines-poller takes from one that starves softirqs (busypoll/poller/guard.c).
func demoted(target, ours, now string) bool {
	_, cpus, _ := strings.Cut(ours, "@")
	return strings.HasPrefix(target, "thread/") && now == "idle:0@"+cpus
}

// restoreDevice puts a setting of a device back, if the device is still there and nobody
// else has changed it since.
func (h Host) restoreDevice(entry Entry) error {
	ns, err := netns.Find(entry.Path, entry.Cookie)
	if ns == nil || err != nil {
		return err
	}
	defer ns.Close()
	return ns.Do(func() error {
		device, err := netlink.LinkByName(entry.Name)
		if errors.As(err, new(netlink.LinkNotFoundError)) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find %s: %w", entry.Name, err)
		}
		if entry.Learnt != nil && entry.Learnt.Index != device.Attrs().Index {
			h.note("device %s was replaced by somebody else; left alone", entry.Name)
			return nil
		}
		setting := napi.Setting(entry.Target)
		now, err := setting.Read(entry.Name)
		switch {
		case napi.IsGone(err):
			return nil
		case err != nil:
			return err
		case now == entry.Old:
			return nil
		case now != entry.Value && !demoted(entry.Target, entry.Value, now) && (entry.Learnt == nil || now != entry.Learnt.Took):
			h.note("%s of %s is %q by now, neither ours nor what it was; left alone", setting, entry.Name, now)
			return nil
		}
		if err := setting.Write(entry.Name, entry.Old); err != nil && !napi.IsGone(err) {
			return fmt.Errorf("write %q: %w", entry.Old, err)
		}
		return nil
	})
}
