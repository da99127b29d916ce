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
	err := inside(h, func(ns *netns.Namespace, _ *netlink.Handle) error {
		f.read.Do(func() { f.inherited, f.failed = ns.Inherited() })
		if f.failed != nil {
			return fmt.Errorf("read what a network takes from the host: %w", f.failed)
		}
		return ns.Reset(f.inherited)
	})
	if err != nil {
		return err
	}
	return Quiet(h)
}
