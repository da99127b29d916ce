package pci

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/kernel/files"
)

// ClaimsDir is where labs claim PCI functions: one file for each function, named by its
// address. All state folders share it, because the cards are shared too.
const ClaimsDir = "/run/nines/devices"

// Claim is the content of such a file.
type Claim struct {
	// Lab is the lab's name, Token its journal's.
	Lab   string `json:"lab"`
	Token string `json:"token"`
	// Boot is the boot ID: a claim of an earlier boot is void.
	Boot string `json:"boot"`
}

// Tree is what functions are read from.
type Tree interface {
	files.Tree
	// VFSettings asks a physical function's interface for the settings of its VFs.
	VFSettings(nic string) ([]VFSettings, error)
}

// ReadFunctions reads the physical functions of network cards, by address.
func ReadFunctions(t Tree) []Function {
	var list []Function
	uses := readUses(t)
	addresses, _ := t.ReadDir(pciRoot) // absent without PCI
	for _, address := range addresses {
		dir := pciRoot + "/" + address
		if !strings.HasPrefix(files.Text(t, dir+"/class"), networkClass) {
			continue
		}
		if _, err := t.ReadLink(dir + "/physfn"); err == nil {
			continue // a virtual function, read with its physical one
		}
		f := Function{
			Address: address, Driver: driverOf(t, address), Interface: interfaceOf(t, address),
			NUMANode: files.IntOr(t, dir+"/numa_node", -1), IOMMUGroup: iommuGroup(t, address),
			TotalVFs: files.IntOr(t, dir+"/sriov_totalvfs", 0), NumVFs: files.IntOr(t, dir+"/sriov_numvfs", 0),
		}
		f.Companions = companions(t, f)
		if f.TotalVFs > 0 {
			f.VFOffset, f.VFStride = files.IntOr(t, dir+"/sriov_offset", 0), files.IntOr(t, dir+"/sriov_stride", 0)
		}
		if f.Interface != "" {
			readInterface(t, &f)
			f.Uplink, f.VLANs = uses.uplink(f.Interface), uses.vlans[f.Interface]
		}
		f.UsedBy = uses.ofInterface(t, f.Address, f.Driver, f.Interface)
		f.VFs = readVFs(t, f, uses)
		list = append(list, f)
	}
	return list
}

func readInterface(t Tree, f *Function) {
	dir := netRoot + "/" + f.Interface
	f.MAC, f.State = files.Text(t, dir+"/address"), files.Text(t, dir+"/operstate")
	f.MTU, f.SpeedMbit = files.IntOr(t, dir+"/mtu", 0), max(0, files.IntOr(t, dir+"/speed", 0))
	// The file cannot be read while the interface is down.
	f.Carrier = map[string]string{"0": "no", "1": "yes"}[files.Text(t, dir+"/carrier")]
}

func readVFs(t Tree, f Function, uses uses) []VirtualFunction {
	var settings []VFSettings
	if f.NumVFs > 0 && f.Interface != "" {
		settings, _ = t.VFSettings(f.Interface) // stay empty if the driver does not report them
	}
	var list []VirtualFunction
	for i := range f.NumVFs {
		target, err := t.ReadLink(fmt.Sprintf("%s/%s/virtfn%d", pciRoot, f.Address, i))
		if err != nil {
			continue
		}
		vf := VirtualFunction{Index: i, Address: path.Base(target)}
		vf.Driver, vf.Interface = driverOf(t, vf.Address), interfaceOf(t, vf.Address)
		vf.IOMMUGroup = iommuGroup(t, vf.Address)
		vf.UsedBy = uses.ofInterface(t, vf.Address, vf.Driver, vf.Interface)
		if claim := readClaim(t, vf.Address); claim != nil {
			vf.Lab, vf.UsedBy = claim.Lab, "the lab "+claim.Lab
		}
		for _, s := range settings {
			if s.Index == i {
				vf.MAC, vf.VLAN = s.MAC, s.VLAN
			}
		}
		list = append(list, vf)
	}
	return list
}

// readClaim returns nil if no lab of this boot has the function.
func readClaim(t Tree, address string) *Claim {
	data := files.Text(t, ClaimsDir+"/"+address)
	var claim Claim
	if data == "" || json.Unmarshal([]byte(data), &claim) != nil || claim.Boot != files.Text(t, "/proc/sys/kernel/random/boot_id") {
		return nil
	}
	return &claim
}

func driverOf(t Tree, address string) string {
	target, err := t.ReadLink(pciRoot + "/" + address + "/driver")
	if err != nil {
		return ""
	}
	return path.Base(target)
}

// interfaceOf is findInterface for readers, to whom what cannot be read is unknown.
func interfaceOf(t Tree, address string) string {
	name, _ := findInterface(t, address)
	return name
}

// findInterface is the kernel's interface of a function, empty if it has none: sysfs shows
// those of the reader's network namespace. virtio has its own device in between.
func findInterface(t Tree, address string) (string, error) {
	dir := pciRoot + "/" + address
	if name, err := firstIn(t, dir+"/net", ""); name != "" || err != nil {
		return name, err
	}
	virtio, err := firstIn(t, dir, "virtio")
	if virtio == "" || err != nil {
		return "", err
	}
	return firstIn(t, dir+"/"+virtio+"/net", "")
}

// firstIn is the first name in a directory that begins so; empty if there is none.
func firstIn(t Tree, dir, prefix string) (string, error) {
	names, err := t.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, prefix) })
	if i < 0 {
		return "", nil
	}
	return names[i], nil
}

func iommuGroup(t Tree, address string) int {
	target, err := t.ReadLink(pciRoot + "/" + address + "/iommu_group")
	if err != nil {
		return -1
	}
	group, err := strconv.Atoi(path.Base(target))
	if err != nil {
		return -1
	}
	return group
}

// companions are the other devices of a function's IOMMU group, without its own VFs and
// without bridges, which keep their driver (vfio_dev_driver_allowed in drivers/vfio).
func companions(t Tree, f Function) []string {
	if f.IOMMUGroup < 0 {
		return nil
	}
	var list []string
	members, _ := t.ReadDir(fmt.Sprintf("/sys/kernel/iommu_groups/%d/devices", f.IOMMUGroup))
	for _, member := range members {
		const bridgeClass = "0x06"
		if member == f.Address || strings.HasPrefix(files.Text(t, pciRoot+"/"+member+"/class"), bridgeClass) {
			continue
		}
		driver := driverOf(t, member)
		if driver != "" && !ForPrograms(driver) {
			member += " (" + driver + ")"
		}
		list = append(list, member)
	}
	return list
}

// ReadIOMMU reads whether devices can be given to programs.
func ReadIOMMU(t Tree) IOMMU {
	groups, _ := t.ReadDir("/sys/kernel/iommu_groups")
	i := IOMMU{Groups: len(groups), Unsafe: files.Text(t, "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode") == "Y"}
	// "DMA" or "DMA-FQ"; "identity" with iommu=pt (Documentation/ABI/testing/sysfs-kernel-iommu_groups).
	i.Translates = i.Groups > 0 && !slices.ContainsFunc(groups, func(group string) bool {
		return !strings.HasPrefix(files.Text(t, "/sys/kernel/iommu_groups/"+group+"/type"), "DMA")
	})
	return i
}
