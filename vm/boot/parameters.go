// Package boot has the parameters that a machine passes to its guest on the kernel command
// line: which disk is the root, what to mount, which control groups to set up. The host
// writes them (Parameters.Words), nines-guest reads them (Parse). The kernel ignores names
// with a dot whose first part is not a module.
package boot

import (
	"fmt"
	"slices"
	"strings"
)

// Cgroup is a layout of control groups.
type Cgroup string

// The layouts: version 2 alone, version 1 alone, and version 1 with an empty hierarchy
// of version 2 at /sys/fs/cgroup/unified.
const (
	CgroupV2     Cgroup = "v2"
	CgroupV1     Cgroup = "v1"
	CgroupHybrid Cgroup = "hybrid"
)

// Cgroups are all layouts.
var Cgroups = []Cgroup{CgroupV2, CgroupV1, CgroupHybrid}

// Mount is a disk or a shared folder to mount in the guest.
type Mount struct {
	// Name is the name of the disk or share.
	Name string
	// Folder is the mount point in the guest.
	Folder string
	// Disk is true for a disk with ext4, false for a share.
	Disk bool
	// ReadOnly mounts it read-only.
	ReadOnly bool
}

// Parameters are the guest's boot parameters.
type Parameters struct {
	// Name is the guest's host name; empty leaves the kernel's.
	Name string
	// Root is the name of the disk with the root file system; empty stays in the
	// initramfs.
	Root string
	// Mounts are mounted in this order.
	Mounts []Mount
	// Cgroup is the layout; empty mounts none.
	Cgroup Cgroup
	// Modules are loaded after the modules of the guest's devices.
	Modules []string
}

const (
	nameKey    = "nines.name="
	rootKey    = "nines.root="
	mountKey   = "nines.mount="
	cgroupKey  = "nines.cgroup="
	modulesKey = "nines.modules="
)

// Words are the parameters as words of the kernel command line.
func (p Parameters) Words() []string {
	var words []string
	add := func(key, value string) {
		if value != "" {
			words = append(words, key+value)
		}
	}
	add(nameKey, p.Name)
	add(rootKey, p.Root)
	for _, m := range p.Mounts {
		kind, access := "share", "rw"
		if m.Disk {
			kind = "disk"
		}
		if m.ReadOnly {
			access = "ro"
		}
		add(mountKey, strings.Join([]string{kind, m.Name, m.Folder, access}, ":"))
	}
	add(cgroupKey, string(p.Cgroup))
	add(modulesKey, strings.Join(p.Modules, ","))
	return words
}

// Parse reads a kernel command line. It skips other parameters.
func Parse(line string) (Parameters, error) {
	var p Parameters
	for word := range strings.FieldsSeq(line) {
		key, value, found := strings.Cut(word, "=")
		if !found {
			continue
		}
		switch key + "=" {
		case nameKey:
			p.Name = value
		case rootKey:
			p.Root = value
		case mountKey:
			m, err := parseMount(value)
			if err != nil {
				return Parameters{}, err
			}
			p.Mounts = append(p.Mounts, m)
		case cgroupKey:
			p.Cgroup = Cgroup(value)
			if !slices.Contains(Cgroups, p.Cgroup) {
				return Parameters{}, fmt.Errorf("%s: the layouts of control groups are %q", word, Cgroups)
			}
		case modulesKey:
			p.Modules = strings.Split(value, ",")
		}
	}
	return p, nil
}

func parseMount(value string) (Mount, error) {
	parts := strings.Split(value, ":")
	if len(parts) != 4 || parts[1] == "" || !strings.HasPrefix(parts[2], "/") ||
		!slices.Contains([]string{"share", "disk"}, parts[0]) || !slices.Contains([]string{"ro", "rw"}, parts[3]) {
		return Mount{}, fmt.Errorf("%s%s is not share|disk:NAME:/FOLDER:ro|rw", mountKey, value)
	}
	return Mount{Name: parts[1], Folder: parts[2], Disk: parts[0] == "disk", ReadOnly: parts[3] == "ro"}, nil
}
