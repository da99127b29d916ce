package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"nines.dev/nines/host"
)

// maxPCI is how many PCI devices an engine opens (EAL_PCI_MAX in
// engine/dpdk/eal_config.h).
const maxPCI = 16

// deviceFile finds the device nodes in the argument of a virtual device.
var deviceFile = regexp.MustCompile(`/dev/[A-Za-z0-9/_.-]+`)

// openDevices allows a node the host devices that DPDK opens for it: the files of the PCI
// functions' drivers, and the device nodes that an argument names.
func (w *work) openDevices(n *node) error {
	if n.link != nil {
		return nil
	}
	for _, e := range n.endpoints {
		if e.device == nil || e.device.Arguments == "" {
			continue
		}
		if e.isFunction() {
			if err := n.openFunction(e.function.Address); err != nil {
				return err
			}
			w.noteFar(n, e.function.Address, e.function.NUMANode)
			continue
		}
		if address := pciAddress(e.device.Arguments); address != "" {
			if err := w.openPCI(n, e, address); err != nil {
				return at(err, []string{"dpdk", "device", e.String()})
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

// pciDevice is the PCI function that DPDK opens at an endpoint; nil if it opens none, or the host
// has none with that address.
func (w *work) pciDevice(e *endpoint) *host.PCIDevice {
	if e.device == nil {
		return nil
	}
	address := pciAddress(e.device.Arguments)
	i := slices.IndexFunc(w.inv.PCIDevices, func(d host.PCIDevice) bool { return d.Address == address })
	if i < 0 {
		return nil
	}
	return &w.inv.PCIDevices[i]
}

// pciNIC is that function as a NIC that CPUs should be near.
func (w *work) pciNIC(e *endpoint) *host.NIC {
	if f := e.function; f.Address != "" {
		return &host.NIC{Name: choose(f.Name == "", f.Address, f.Name), PCIAddress: f.Address, NUMANode: f.NUMANode}
	}
	d := w.pciDevice(e)
	if d == nil {
		return nil
	}
	return &host.NIC{Name: d.Address, PCIAddress: d.Address, NUMANode: d.NUMANode}
}

// openPCI allows a node a PCI function, which must have a driver that leaves it to
// programs.
func (w *work) openPCI(n *node, e *endpoint, address string) error {
	demand := fmt.Sprintf("%s requests the PCI device %s for DPDK", e, address)
	device := w.pciDevice(e)
	if device == nil {
		if j := slices.IndexFunc(w.inv.NICs, func(nic host.NIC) bool { return nic.PCIAddress == address }); j >= 0 {
			nic := w.inv.NICs[j]
			if nic.State != "" && nic.State != "down" && nic.State != "notpresent" {
				// If this is the host's uplink, binding it to another driver would cut the host
				// off.
				return &Impossible{demand, fmt.Sprintf("its interface %s is up (driver %s): the host uses it", nic.Name, nic.Driver), "choose another"}
			}
			return &Impossible{demand, fmt.Sprintf("the kernel has it as %s (driver %s)", nic.Name, nic.Driver),
				"dpdk-devbind.py --bind=vfio-pci " + address}
		}
		return &Impossible{demand, "the host has no such device", "nines host lists those that DPDK can open"}
	}
	n.allow(device.Files...)
	for _, other := range w.nodes {
		if other.dpdk != nil && slices.Contains(other.dpdk.PCI, address) {
			return &Conflict{"dpdk.device." + e.String(), address + " is opened for another interface of " + other.title() + " already", "give each its own"}
		}
	}
	if err := n.openFunction(address); err != nil {
		return err
	}
	w.noteFar(n, address, device.NUMANode)
	return nil
}

// openFunction adds a PCI function to those that a node's engine may probe.
func (n *node) openFunction(address string) error {
	if len(n.dpdk.PCI) == maxPCI {
		return at(&Conflict{n.title(), fmt.Sprintf("its engine opens more than %d PCI devices", maxPCI), "spread them over several nodes"}, n.steps())
	}
	n.dpdk.PCI = append(n.dpdk.PCI, address)
	return nil
}

// noteFar says where a function is far from the memory of the engine that opens it.
func (w *work) noteFar(n *node, address string, numa int) {
	if numa >= 0 && numa != n.dpdk.MemoryNode {
		w.note("%s is on NUMA node %d and the memory of %s on node %d: each packet crosses over.", address, numa, n.title(), n.dpdk.MemoryNode)
	}
}
