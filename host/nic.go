package host

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"nines.dev/nines/kernel/files"
)

const netRoot = "/sys/class/net"

// pciAddress is domain:bus:device.function, as in /sys/bus/pci/devices.
var pciAddress = regexp.MustCompile(`^[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// readNICs reads the interfaces of our network namespace.
func readNICs(t Tree) []NIC {
	nics := []NIC{}
	names, _ := t.ReadDir(netRoot)
	for _, name := range names {
		dir := netRoot + "/" + name
		target, err := t.ReadLink(dir)
		if err != nil {
			continue // bonding_masters is a file, not an interface
		}
		nic := NIC{
			Name:       name,
			PCIAddress: lastPCIAddress(target),
			NUMANode:   files.IntOr(t, dir+"/device/numa_node", -1),
			MAC:        files.Text(t, dir+"/address"),
			MTU:        files.IntOr(t, dir+"/mtu", 0),
			State:      files.Text(t, dir+"/operstate"),
			Virtual:    strings.Contains(target, "/virtual/"),
			Wireless:   t.Exists(dir+"/wireless") || t.Exists(dir+"/phy80211"),
		}
		if driver, err := t.ReadLink(dir + "/device/driver"); err == nil {
			nic.Driver = path.Base(driver)
		}
		// A reading of -1 is "unknown" (drivers/net/…, SPEED_UNKNOWN).
		nic.SpeedMbit = max(0, files.IntOr(t, dir+"/speed", 0))
		queues, _ := t.ReadDir(dir + "/queues")
		for _, q := range queues {
			if strings.HasPrefix(q, "rx-") {
				nic.Queues++
			}
		}
		if nic.PCIAddress != "" {
			// A virtio interface belongs to a virtio device, which belongs to
			// the PCI device; only the latter reports its NUMA node.
			pci := "/sys/bus/pci/devices/" + nic.PCIAddress
			nic.NUMANode = files.IntOr(t, pci+"/numa_node", nic.NUMANode)
			nic.TotalVFs = files.IntOr(t, pci+"/sriov_totalvfs", 0)
			nic.NumVFs = files.IntOr(t, pci+"/sriov_numvfs", 0)
			nic.SleepsL1 = files.Text(t, pci+"/link/l1_aspm") == "1" // since 5.5
			nic.Interrupts = messageInterrupts(t, pci)
			if c, err := t.Coalescing(name); err == nil {
				nic.Coalescing = &c
			}
		}
		nics = append(nics, nic)
	}
	return nics
}

// messageInterrupts lists a device's MSI and MSI-X numbers, in order.
func messageInterrupts(t Tree, pci string) []string {
	list, _ := t.ReadDir(pci + "/msi_irqs") // absent for a device with a legacy interrupt
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	return list
}

// lastPCIAddress finds the device nearest to the interface in a link such as
// ../../devices/pci0000:00/0000:00:03.0/virtio2/net/eth0.
func lastPCIAddress(target string) string {
	address := ""
	for part := range strings.SplitSeq(target, "/") {
		if pciAddress.MatchString(part) {
			address = part
		}
	}
	return address
}
