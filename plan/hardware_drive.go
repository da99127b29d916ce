package plan

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// assignWhole gives the ends of a passthrough link the devices that the file names.
func (w *work) assignWhole(l *link) error {
	if l.spec.Passthrough == nil || len(l.spec.Passthrough.Devices) != len(l.endpoints) {
		return at(&Conflict{"link " + l.name, "it does not name a device for each endpoint", "write passthrough: {devices: [enp1s0f0, enp1s0f1]}"}, l.steps())
	}
	for i, e := range l.endpoints {
		name := l.spec.Passthrough.Devices[i]
		demand := fmt.Sprintf("%s requests the whole device %s", e, name)
		if c, vf := w.findVF(name); vf != nil {
			if err := w.giveVF(e, c, vf, demand); err != nil {
				return err
			}
			continue
		}
		c := w.findCard(name)
		switch {
		case c == nil:
			return &Impossible{demand, w.notOnBus(name), w.haveCards()}
		case c.whole != nil:
			return at(&Conflict{"link " + l.name + ": passthrough.devices", fmt.Sprintf("%s is already used by %s", name, c.whole), "a whole device has one endpoint"}, l.steps("passthrough", "devices"))
		case c.UsedBy != "" && !slices.Contains(programDrivers, c.Driver):
			return &Impossible{demand, "it is used by " + c.UsedBy + ": the host would lose it", "choose another; virtual functions (kind: sriov) share a port with the host"}
		case c.NumVFs > 0:
			return &Impossible{demand, fmt.Sprintf("%s of it exist, and would be removed with it", terminal.Count(c.NumVFs, "virtual function")),
				fmt.Sprintf("use kind: sriov, or echo 0 > /sys/bus/pci/devices/%s/sriov_numvfs", c.Address)}
		}
		c.whole = e
		e.function = Function{Address: c.Address, Name: c.Interface, NUMANode: c.NUMANode}
		e.node.because("%s is the whole device %s", e.name, c.Name())
	}
	return nil
}

// programDrivers leave a device to programs. A node may also get a device that nines did not bind
// itself, as its owner has released it for programs.
var programDrivers = []string{string(spec.DriverVFIO), string(spec.DriverUIO), string(spec.DriverIGBUIO)}

// findVF finds an existing virtual function by its address or interface.
func (w *work) findVF(name string) (*card, *host.VirtualFunction) {
	for _, c := range w.cards {
		for i := range c.VFs {
			if strings.EqualFold(c.VFs[i].Address, name) || c.VFs[i].Interface == name && name != "" {
				return c, &c.VFs[i]
			}
		}
	}
	return nil, nil
}

// giveVF gives an endpoint a virtual function as a whole device: nothing is set up through its
// port.
func (w *work) giveVF(e *endpoint, c *card, vf *host.VirtualFunction, demand string) error {
	switch {
	case c.given[vf.Index] != nil:
		return at(&Conflict{"link " + e.link.name + ": passthrough.devices", fmt.Sprintf("%s is already used by %s", vf.Address, c.given[vf.Index]), "a device has one endpoint"}, e.link.steps("passthrough", "devices"))
	case w.othersVF(c, vf.Index) && !slices.Contains(programDrivers, vf.Driver):
		return &Impossible{demand, "it is used by " + vf.UsedBy, "choose another"}
	}
	c.given[vf.Index] = e
	e.function = Function{Address: vf.Address, Name: vf.Interface, NUMANode: c.NUMANode}
	e.node.because("%s is the device %s, VF %d of %s", e.name, vf.Address, vf.Index, c.Name())
	return nil
}

// notOnBus explains a name that no PCI function has.
func (w *work) notOnBus(name string) string {
	if slices.ContainsFunc(w.inv.NICs, func(n host.NIC) bool { return n.Name == name && n.Virtual }) {
		return "it is a virtual interface"
	}
	if slices.ContainsFunc(w.inv.NICs, func(n host.NIC) bool { return n.Name == name }) {
		return "it is not on a PCI device"
	}
	return "the host has no such card on its PCI bus"
}

// driveFunction decides whether the kernel drives an endpoint's function, so that the node gets its
// interface, or a program.
func (w *work) driveFunction(e *endpoint) error {
	if !e.isFunction() {
		return nil
	}
	dpdk := e.device != nil
	if !dpdk && !e.node.guest() {
		return w.driveByKernel(e)
	}
	driver := spec.DriverVFIO
	switch {
	case e.node.guest(): // QEMU supports no other
	case e.link.kind.Descriptor().End == spec.EndFunction:
		driver = e.link.sriov().Driver
	case e.link.spec.Passthrough.Driver != "":
		driver = e.link.spec.Passthrough.Driver
	}
	if err := w.canDrive(e, driver); err != nil {
		return err
	}
	e.function.Driver = driver
	e.node.functions = append(e.node.functions, e.function.Address)
	if !e.node.guest() {
		e.device = &Device{Arguments: e.function.Address}
	}
	return nil
}

// driveByKernel refuses a device that should be an interface but has no driver that makes one.
func (w *work) driveByKernel(e *endpoint) error {
	c := w.findCard(e.function.Address)
	if c == nil || !slices.Contains(programDrivers, c.Driver) {
		return nil
	}
	return &Impossible{fmt.Sprintf("%s needs the interface of %s", e, c.Address), fmt.Sprintf("its driver is %s, which is for userspace programs", c.Driver),
		"use the backend dpdk, or give it back to the kernel's driver: dpdk-devbind.py --bind=DRIVER " + c.Address}
}

// canDrive refuses a driver for programs that the host does not have, or that cannot drive the
// function.
func (w *work) canDrive(e *endpoint, driver spec.ProgramDriver) error {
	demand := fmt.Sprintf("%s needs %s for %s, by %s", e, e.function.Address, choose(e.node.guest(), "its virtual machine", "DPDK"), driver)
	if f := w.inv.Feature(string(driver)); f.State == host.StateNo {
		return &Impossible{demand, fmt.Sprintf("the kernel has no such driver (%s)", f.Detail),
			choose(driver == spec.DriverVFIO, "use a kernel with CONFIG_VFIO_PCI", "use driver: vfio-pci")}
	}
	if driver != spec.DriverVFIO {
		if w.inv.IOMMU.Translates {
			return &Impossible{demand, "the IOMMU translates device addresses, and UIO does not map the program's memory in it, so the device cannot access any memory",
				"use driver: vfio-pci, or boot with iommu=pt"}
		}
		return nil
	}
	if w.inv.IOMMU.Groups == 0 && !w.inv.IOMMU.Unsafe {
		remedy := fmt.Sprintf("switch it on: in the firmware (VT-d, AMD-Vi), and by %s on the kernel's command line", iommuParameter(w.inv))
		if !e.node.guest() {
			remedy += "; without one, as root at your own risk: echo Y > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode, or driver: uio_pci_generic or igb_uio"
		}
		return &Impossible{demand, "the IOMMU is off or absent, so vfio cannot confine the device to its memory", remedy}
	}
	if w.inv.IOMMU.Groups == 0 && e.node.guest() {
		return &Impossible{demand, "the host has no IOMMU, and vfio's unsafe mode cannot translate a guest's addresses", "switch the IOMMU on: " + iommuParameter(w.inv)}
	}
	if c := w.findCard(e.function.Address); c != nil {
		for _, other := range c.Companions {
			if strings.HasSuffix(other, ")") { // it has a kernel driver
				return &Impossible{demand, fmt.Sprintf("it shares its IOMMU group with %s, and a program gets a whole group or nothing", other),
					"put the card into another slot, or use driver: uio_pci_generic"}
			}
		}
	}
	return nil
}

// iommuParameter is the boot parameter that turns an IOMMU on, by the CPU's vendor.
func iommuParameter(inv *host.Inventory) string {
	for _, c := range inv.CPUs {
		if strings.Contains(c.Model, "AMD") {
			return "iommu=pt (amd_iommu is on where the firmware has it)"
		}
	}
	return "intel_iommu=on iommu=pt"
}
