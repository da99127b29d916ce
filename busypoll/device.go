package busypoll

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/netns"
)

// KindDevice is a setting, Target, of a device, Name, which had Old and got Value, in the
// network namespace found by Path and Cookie; see package napi.
var KindDevice = journal.Register("device", journal.Undo{Step: restoreDevice, Lost: "settings of network devices for receiving"})

// makeSetting changes a device's setting through the journal. If the device has the value
// already, nothing is written and changed is false. If the kernel refuses the value, or
// silently ignores it, the error is a setting.RefusedError and nothing stays in the
// journal.
func (s Site) makeSetting(ns *netns.Namespace, name string, what napi.Setting, value string) (changed bool, err error) {
	cookie, err := ns.Cookie()
	if err != nil {
		return false, err
	}
	err = ns.Do(func() error {
		device, err := netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("find %s: %w", name, err)
		}
		step := journal.Step{
			Kind: KindDevice, Node: s.Node, Path: ns.Path(), Cookie: cookie, Name: name, Target: string(what), Value: value,
		}
		if step.Old, err = what.Read(name); err != nil || step.Old == value {
			return err
		}
		id, err := s.Journal.Begin(step)
		if err != nil {
			return err
		}
		if err := what.Write(name, value); err != nil {
			s.Journal.Forget(id)
			return &setting.RefusedError{Path: name + " " + string(what), Value: value, Err: err}
		}
		changed = true
		took, err := what.Read(name)
		if err != nil {
			return err
		}
		return s.Journal.Done(id, journal.Learnt{Index: device.Attrs().Index, Took: took})
	})
	return changed, err
}

// demoted reports whether a polling thread has our placement, "fifo:10@2", except for the
// policy: the guard in nines-poller lowers the policy of a thread that starves softirqs
// (busypoll/poller/guard.c).
func demoted(target, ours, now string) bool {
	_, cpus, _ := strings.Cut(ours, "@")
	return strings.HasPrefix(target, "thread/") && now == "idle:0@"+cpus
}

// restoreDevice restores a device's setting, if the device still exists and others have not
// changed the setting since.
func restoreDevice(_ context.Context, u journal.Undoing) error {
	ns, err := netns.Find(u.Path, u.Cookie)
	if ns == nil || err != nil {
		return err
	}
	defer ns.Close()
	return ns.Do(func() error {
		device, err := netlink.LinkByName(u.Name)
		if errors.As(err, new(netlink.LinkNotFoundError)) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find %s: %w", u.Name, err)
		}
		if u.Learnt != nil && u.Learnt.Index != device.Attrs().Index {
			u.Notef("device %s was replaced by another program; left as it is", u.Name)
			return nil
		}
		what := napi.Setting(u.Target)
		now, err := what.Read(u.Name)
		switch {
		case napi.IsGone(err):
			return nil
		case err != nil:
			return err
		case now == u.Old:
			return nil
		case now != u.Value && !demoted(u.Target, u.Value, now) && (u.Learnt == nil || now != u.Learnt.Took):
			u.Notef("%s of %s is now %q, neither our value nor the old one; left as it is", what, u.Name, now)
			return nil
		}
		if err := what.Write(u.Name, u.Old); err != nil && !napi.IsGone(err) {
			return fmt.Errorf("write %q: %w", u.Old, err)
		}
		return nil
	})
}
