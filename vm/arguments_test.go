package vm

import (
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/golden"
	"nines.dev/nines/vm/boot"
)

var machines = map[string]Config{
	"least": {
		Dir: "/run/m", Kernel: "/k/vmlinuz", Accelerator: KVM, Memory: Memory{MiB: 512},
	},
	"laboratory": {
		Dir: "/run/m", Kernel: "/k/vmlinuz", Initrd: "/k/initrd", Accelerator: TCG,
		Boot:   boot.Parameters{Name: "vlab", Root: "root", Cgroup: boot.CgroupV2, Mounts: []boot.Mount{{Name: "modules", Folder: "/lib/modules", Disk: true, ReadOnly: true}}},
		Append: []string{"isolcpus=2-3"},
		CPU:    CPU{Sockets: 2, Cores: 2}, Memory: Memory{MiB: 2049}, NUMA: []NUMANode{{CPUs: []int{0, 1}}, {CPUs: []int{2, 3}}}, IOMMU: true,
		Disks: []Disk{{Name: "root", Path: "/c/root.ext4", ReadOnly: true}, {Name: "work", Path: "/c/a,b.ext4"}},
		NICs: []NIC{
			{Model: IGB, Backend: Hub, MAC: "52:54:00:00:00:01"},
			{Model: IGB, Backend: Hub, MAC: "52:54:00:00:00:02", NUMANode: 1},
		},
		Agents: 2,
	},
	"node": {
		Dir: "/run/m", Kernel: "/k/vmlinuz", Initrd: "/k/initrd", Accelerator: KVM, Detached: true,
		CPU: CPU{Cores: 2, Model: "Haswell"}, Memory: Memory{MiB: 1024, Shared: true, Hugepages: "/dev/hugepages", HostNodes: "0"},
		Shares: []Share{{Name: "engine", Path: "/opt/nines", ReadOnly: true}},
		NICs: []NIC{
			{Model: Virtio, Backend: Tap, Tap: "n-tap0", VhostNet: true, QueuePairs: 2},
			{Model: Virtio, Backend: VhostUser, Socket: "/run/s/a", Server: true},
			{Model: Virtio, Backend: VhostUser, Socket: "/run/s/b", MAC: "02:00:00:00:00:01"},
		},
		HostDevices: []string{"0000:3b:02.1"},
	},
	"open-tap": {
		Dir: "/run/m", Kernel: "/k/vmlinuz", Initrd: "/k/initrd", Accelerator: TCG,
		Memory: Memory{MiB: 512, Shared: true, HugepageBytes: 2 << 20},
		NICs:   []NIC{{Model: Virtio, Backend: Tap, FD: 3}, {Model: Virtio, Backend: Tap, FD: 4, VhostNet: true}},
		Ports:  []Port{{Name: "nines.engine", Socket: "/run/l/engines/dut.sock"}},
	},
}

func TestArguments(t *testing.T) {
	for name, config := range machines {
		t.Run(name, func(t *testing.T) {
			if err := config.Check(); err != nil {
				t.Fatal(err)
			}
			// One line for each flag with its value.
			var text strings.Builder
			for i, word := range Arguments(config) {
				switch {
				case i > 0 && strings.HasPrefix(word, "-"):
					text.WriteString("\n")
				case i > 0:
					text.WriteString(" ")
				}
				text.WriteString(word)
			}
			text.WriteString("\n")
			golden.Equal(t, filepath.Join("testdata", name+".golden"), text.String())
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"needs a kernel":       func(c *Config) { c.Kernel = "" },
		"needs memory":         func(c *Config) { c.Memory.MiB = 0 },
		"accelerator":          func(c *Config) { c.Accelerator = "xen" },
		"absolute path":        func(c *Config) { c.Dir = "m" },
		"short enough":         func(c *Config) { c.Dir = "/" + strings.Repeat("d", 100) },
		"1 to 20 characters":   func(c *Config) { c.Disks = []Disk{{Name: strings.Repeat("d", 21)}} },
		"CPU 4 is in two":      func(c *Config) { c.NUMA = []NUMANode{{CPUs: []int{0, 1, 2, 3, 4}}} },
		"CPU 0 is in two":      func(c *Config) { c.NUMA = []NUMANode{{CPUs: []int{0, 1, 2, 3}}, {CPUs: []int{0}}} },
		"all or none":          func(c *Config) { c.NUMA = []NUMANode{{CPUs: []int{0}}} },
		"shared memory":        func(c *Config) { c.NICs = []NIC{{Backend: VhostUser}} },
		"near NUMA node 2":     func(c *Config) { c.NICs = []NIC{{Backend: Hub, NUMANode: 2}} },
		"of at most 2047":      func(c *Config) { c.Append = []string{strings.Repeat("x", 2000)} },
		"kernel command line ": func(c *Config) { c.Append = make([]string, 2100) },
	} {
		config := machines["laboratory"]
		change(&config)
		if err := config.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
