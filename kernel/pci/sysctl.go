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

// The kernel keeps settings for each interface. It resets them to the defaults of the
// network namespace when the interface moves there or its driver restarts (inetdev_event
// and addrconf_notify in net/ipv4/devinet.c and net/ipv6/addrconf.c). So a lab would lose a
// host's settings of an interface if it did not save them.

// sysctlGroups are the folders below /proc/sys/net with a folder for each interface.
var sysctlGroups = []string{"ipv4/conf", "ipv4/neigh", "ipv6/conf", "ipv6/neigh"}

func (b Bus) sysctl(group, name string) string {
	return filepath.Join(b.Root, "/proc/sys/net", group, name)
}

// sysctls are an interface's settings, by group and name, "ipv4/conf/arp_ignore". It leaves
// out those that cannot be read, such as a secret that is not set.
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

// restoreSysctls writes the settings that differ. It skips what the kernel refuses, such as
// a count that only the kernel changes.
func (b Bus) restoreSysctls(name string, old map[string]string) error {
	now := b.sysctls(name)
	for _, key := range slices.Sorted(maps.Keys(old)) {
		// What could be read before, and cannot now, may be another value.
		if value, there := now[key]; there && value == old[key] {
			continue
		}
		group, file := filepath.Split(key)
		path := filepath.Join(b.sysctl(filepath.Clean(group), name), file)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("set %s of %s to %s again: %w", key, name, old[key], err)
		}
		if info.Mode().Perm()&0o200 == 0 {
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
