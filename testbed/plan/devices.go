package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"nines.dev/nines/testbed/host"
)

// deviceFile finds the device nodes in the argument of a virtual device.
var deviceFile = regexp.MustCompile(`/dev/[A-Za-z0-9/_.-]+`)

// openDevices allows a node the devices of the host that DPDK opens for it: the
// PCI functions, by the files of their drivers, and those that an argument names.
func (w *work) openDevices(n *node) error {
	if n.link != nil {
		return nil
	}
	for _, e := range n.endpoints {
		if e.device == nil || e.device.Arguments == "" {
			continue
		}
		if address := pciAddress(e.device.Arguments); address != "" {
			if err := w.openPCI(n, e, address); err != nil {
				return err
			}
			continue
		}
		n.allow(deviceFile.FindAllString(e.device.Arguments, -1)...)
		if strings.HasPrefix(e.device.Arguments, "net_tap") {
			n.allow("/dev/net/tun")
		}
	}
	return nil
}

func (n *node) allow(files ...string) {
	for _, file := range files {
		if !slices.Contains(n.devices, file) {
			n.devices = append(n.devices, file)
		}
	}
}

// openPCI allows a node a PCI function, which must have a driver that leaves it to
// programs.
func (w *work) openPCI(n *node, e *endpoint, address string) error {
	demand := fmt.Sprintf("%s wants the PCI device %s for DPDK", e, address)
	i := slices.IndexFunc(w.inv.PCIDevices, func(d host.PCIDevice) bool { return d.Address == address })
	if i < 0 {
		if j := slices.IndexFunc(w.inv.NICs, func(nic host.NIC) bool { return nic.PCIAddress == address }); j >= 0 {
			return &Impossible{demand, fmt.Sprintf("the kernel has it as %s (driver %s)", w.inv.NICs[j].Name, w.inv.NICs[j].Driver),
				"dpdk-devbind.py --bind=vfio-pci " + address}
		}
		return &Impossible{demand, "the host has no such device", "nines host lists those that DPDK can open"}
	}
	device := w.inv.PCIDevices[i]
	n.allow(device.Files...)
	n.dpdk.PCI = append(n.dpdk.PCI, address)
	if device.NUMANode >= 0 && device.NUMANode != n.dpdk.MemoryNode {
		w.note("%s is on NUMA node %d and the memory of %s on node %d: each packet crosses over.", address, device.NUMANode, n.title(), n.dpdk.MemoryNode)
	}
	return nil
}
