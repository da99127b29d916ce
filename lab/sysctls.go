package lab

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// sysctls writes a node's sysctls, after those that its app needs.
func (b *builder) sysctls(n plan.Node) error {
	wanted := n.AppSysctls()
	var names []string
	for name := range wanted {
		names = append(names, name)
	}
	sort.Strings(names)
	var users []string
	for name, value := range n.Sysctls {
		wanted[name] = value
		users = append(users, name)
	}
	sort.Strings(users)
	if len(wanted) == 0 {
		return nil
	}
	ns, err := b.Running(n.Name).Namespace()
	if err != nil {
		return err
	}
	defer ns.Close()
	err = ns.Do(func() error {
		for _, name := range append(names, users...) {
			if !strings.HasPrefix(netns.SysctlPath(name), "/proc/sys/net/") {
				continue
			}
			err := netns.WriteSysctl(name, wanted[name])
			if _, users := n.Sysctls[name]; !users && name == plan.IPv6Forwarding && errors.Is(err, netns.ErrNoSysctl) {
				continue // a kernel without IPv6
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("node %q: %w", n.Name, err)
	}
	return b.otherSysctls(n, users)
}

// otherSysctls writes the sysctls of the ipc and uts namespaces, from inside the node. A node that has not
// started has none of these, and gets them when it starts.
func (b *builder) otherSysctls(n plan.Node, names []string) error {
	if b.Running(n.Name).PID == 0 {
		return nil
	}
	for _, name := range names {
		path := netns.SysctlPath(name)
		if strings.HasPrefix(path, "/proc/sys/net/") {
			continue
		}
		if !namespaced(path) {
			return fmt.Errorf("node %q: sysctl %s belongs to the whole host, not to a node; only net.*, fs.mqueue.*, kernel.msg*, kernel.sem, kernel.shm*, kernel.hostname and kernel.domainname are a node's own", n.Name, name)
		}
		// By nines itself: a root file system may have no program for it, and a node may not.
		if err := node.WriteInside(b.Running(n.Name), path, n.Sysctls[name]); err != nil {
			return fmt.Errorf("node %q: sysctl %s: write %q: %w", n.Name, name, n.Sysctls[name], err)
		}
	}
	return nil
}

// namespaced reports whether a sysctl below /proc/sys belongs to an ipc or uts namespace; see
// namespaces(7).
func namespaced(path string) bool {
	for _, prefix := range []string{
		"/proc/sys/fs/mqueue/", "/proc/sys/kernel/msg", "/proc/sys/kernel/sem", "/proc/sys/kernel/shm",
		"/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname",
	} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}
