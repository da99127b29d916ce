package pci

import (
	"path"
	"slices"
	"strings"

	"nines.dev/nines/kernel/files"
)

const pciRoot = "/sys/bus/pci/devices"

// ForPrograms reports whether a driver gives a device to a program.
func ForPrograms(driver string) bool {
	return slices.Contains([]string{DriverVFIO, DriverUIO, DriverIGBUIO}, driver)
}

// networkClass is the PCI base class of network controllers (PCI Code and ID
// Assignment Specification, 1.3).
const networkClass = "0x02"

// Device is a function that a program can drive.
type Device struct {
	Address  string `json:"address"`
	Driver   string `json:"driver"` // one of those ForPrograms
	NUMANode int    `json:"numa_node"`
	// Files are the device nodes through which it is driven, such as /dev/vfio/7.
	Files []string `json:"files"`
}

// ReadDevices finds the network devices that programs may drive.
func ReadDevices(t Tree) []Device {
	var list []Device
	addresses, _ := t.ReadDir(pciRoot) // absent without PCI
	for _, address := range addresses {
		dir := pciRoot + "/" + address
		driver := driverOf(t, address)
		if !ForPrograms(driver) || !strings.HasPrefix(files.Text(t, dir+"/class"), networkClass) {
			continue
		}
		list = append(list, Device{
			Address: address, Driver: driver, NUMANode: files.IntOr(t, dir+"/numa_node", -1), Files: deviceFiles(t, dir, driver),
		})
	}
	return list
}

// deviceFiles are the device nodes of a device: its VFIO group's and VFIO's own
// (Documentation/driver-api/vfio.rst), or its UIO device's.
func deviceFiles(t Tree, dir, driver string) []string {
	nodes := []string{}
	if driver != DriverVFIO {
		names, _ := t.ReadDir(dir + "/uio")
		for _, name := range names {
			nodes = append(nodes, "/dev/"+name)
		}
		return nodes
	}
	group, err := t.ReadLink(dir + "/iommu_group")
	if err != nil {
		return nodes
	}
	file := "/dev/vfio/" + path.Base(group)
	// Without an IOMMU the group has this name, and its file a different name
	// (VFIO_NOIOMMU).
	if files.Text(t, dir+"/iommu_group/name") == "vfio-noiommu" {
		file = "/dev/vfio/noiommu-" + path.Base(group)
	}
	return append(nodes, "/dev/vfio/vfio", file)
}
