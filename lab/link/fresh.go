package link

import (
	"fmt"
	"sync"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
)

// Fresh makes new network namespaces alike, whatever the host's own settings are. Its zero value is for the namespaces
// that are made at about one time: what they take from the host it reads once, in the first of them, as that takes
// longer than all else here.
type Fresh struct {
	read      sync.Once
	inherited []netns.Sysctl
	failed    error
}

// Begin gives a namespace without devices the kernel's own defaults, and quiets it.
func (f *Fresh) Begin(h Holder) error {
	f.read.Do(func() {
		f.failed = inside(h, func(ns *netns.Namespace, _ *netlink.Handle) (err error) {
			f.inherited, err = ns.Inherited()
			return err
		})
	})
	if f.failed != nil {
		return fmt.Errorf("read what a network takes from the host: %w", f.failed)
	}
	if len(f.inherited) > 0 {
		err := inside(h, func(ns *netns.Namespace, _ *netlink.Handle) error { return ns.Reset(f.inherited) })
		if err != nil {
			return err
		}
	}
	return Quiet(h)
}
