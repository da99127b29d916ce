package pci

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// The kernel keeps settings for each interface, and makes them anew with the defaults of
// wherever it comes when it moves to another network namespace, or its driver starts again
// (inetdev_event and addrconf_notify in net/ipv4/devinet.c and net/ipv6/addrconf.c). So
// what a host has set of an interface is lost when a lab has it, if nobody writes it down.

// sysctlGroups are the folders below /proc/sys/net with one for each interface.
var sysctlGroups = []string{"ipv4/conf", "ipv4/neigh", "ipv6/conf", "ipv6/neigh"}

func (b Bus) sysctl(group, name string) string {
	return filepath.Join(b.Root, "/proc/sys/net", group, name)
}

// sysctls are an interface's settings, by their group and name, "ipv4/conf/arp_ignore".
// Those that cannot be read, as a secret that is not set, are left out.
func (b Bus) sysctls(name string) map[string]string {
	all := map[string]string{}
	for _, group := range sysctlGroups {
		entries, err := os.ReadDir(b.sysctl(group, name))
		if err != nil {
			continue // a kernel without IPv6
		}
		for _, e := range entries {
			if text, err := os.ReadFile(filepath.Join(b.sysctl(group, name), e.Name())); err == nil {
				all[group+"/"+e.Name()] = strings.TrimSpace(string(text))
			}
		}
	}
	return all
}

// restoreSysctls writes what differs from what an interface had. What the kernel does not
// take, such as a count that only it changes, is left.
func (b Bus) restoreSysctls(name string, old map[string]string) error {
	now := b.sysctls(name)
	for _, key := range slices.Sorted(maps.Keys(old)) {
		value, there := now[key]
		if !there || value == old[key] {
			continue
		}
		group, file := filepath.Split(key)
		path := filepath.Join(b.sysctl(filepath.Clean(group), name), file)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o200 == 0 {
			continue
		}
		err = os.WriteFile(path, []byte(old[key]+"\n"), 0o644)
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP):
		default:
			return fmt.Errorf("set %s of %s to %s again: %w", key, name, old[key], err)
		}
	}
	return nil
}
