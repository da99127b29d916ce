package host

import (
	"path"
	"slices"
	"strings"
)

const pciRoot = "/sys/bus/pci/devices"

// ForPrograms tells whether a driver gives a device to a program.
func ForPrograms(driver string) bool {
	return slices.Contains([]string{"vfio-pci", "uio_pci_generic", "igb_uio"}, driver)
}

// networkClass is the PCI base class of network controllers (PCI Code and ID
// Assignment Specification, 1.3).
const networkClass = "0x02"

// readPCIDevices finds the network devices that programs may drive.
func readPCIDevices(t Tree) []PCIDevice {
	var list []PCIDevice
	addresses, _ := t.ReadDir(pciRoot) // absent without PCI
	for _, address := range addresses {
		dir := pciRoot + "/" + address
		target, err := t.ReadLink(dir + "/driver")
		driver := path.Base(target)
		if err != nil || !ForPrograms(driver) || !strings.HasPrefix(text(t, dir+"/class"), networkClass) {
			continue
		}
		list = append(list, PCIDevice{
			Address: address, Driver: driver, NUMANode: intOr(t, dir+"/numa_node", -1), Files: deviceFiles(t, dir, driver),
		})
	}
	return list
}

// deviceFiles are the device nodes of a device: its VFIO group's and VFIO's own
// (Documentation/driver-api/vfio.rst), or its UIO device's.
func deviceFiles(t Tree, dir, driver string) []string {
	files := []string{}
	if driver != "vfio-pci" {
		names, _ := t.ReadDir(dir + "/uio")
		for _, name := range names {
			files = append(files, "/dev/"+name)
		}
		return files
	}
	group, err := t.ReadLink(dir + "/iommu_group")
	if err != nil {
		return files
	}
	file := "/dev/vfio/" + path.Base(group)
	// Without an IOMMU the group has this name, and its file a different name
	// (VFIO_NOIOMMU).
	if text(t, dir+"/iommu_group/name") == "vfio-noiommu" {
		file = "/dev/vfio/noiommu-" + path.Base(group)
	}
	return append(files, "/dev/vfio/vfio", file)
}
