package host

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"nines.dev/nines/kernel/files"
	"nines.dev/nines/kernel/pci"
)

const netRoot = "/sys/class/net"

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
			PCIAddress: pci.AddressIn(target),
			NUMANode:   NUMANodeOf(t, name),
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
			device := pciDevice(nic.PCIAddress)
			nic.TotalVFs = files.IntOr(t, device+"/sriov_totalvfs", 0)
			nic.NumVFs = files.IntOr(t, device+"/sriov_numvfs", 0)
			nic.SleepsL1 = files.Text(t, device+"/link/l1_aspm") == "1" // since 5.5
			nic.Interrupts = messageInterrupts(t, device)
			if c, err := t.Coalescing(name); err == nil {
				nic.Coalescing = &c
			}
		}
		nics = append(nics, nic)
	}
	return nics
}

func pciDevice(address string) string { return "/sys/bus/pci/devices/" + address }

// NUMANodeOf is the NUMA node of an interface's card; -1 where it is unknown, as for what is on no card.
func NUMANodeOf(t files.Tree, name string) int {
	node := files.IntOr(t, netRoot+"/"+name+"/device/numa_node", -1)
	target, _ := t.ReadLink(netRoot + "/" + name) // it has no address where there is no such interface
	if address := pci.AddressIn(target); address != "" {
		// A virtio interface belongs to a virtio device, which belongs to
		// the PCI device; only the latter reports its NUMA node.
		node = files.IntOr(t, pciDevice(address)+"/numa_node", node)
	}
	return node
}

// messageInterrupts lists a device's MSI and MSI-X numbers, in order.
func messageInterrupts(t Tree, device string) []string {
	list, _ := t.ReadDir(device + "/msi_irqs") // absent for a device with a legacy interrupt
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	return list
}
