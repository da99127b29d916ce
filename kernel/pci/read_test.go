package pci

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"nines.dev/nines/kernel/files"
)

// cards is a machine with a two-port card, as sysfs shows it. The first port has two VFs,
// one of which a program uses; the second carries the host's default route and shares an
// IOMMU group with a disk.
func cards(t *testing.T) Tree {
	t.Helper()
	root := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(path, target string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	pci := func(address, class, driver string, group int) string {
		dir := "sys/bus/pci/devices/" + address
		write(dir+"/class", class)
		write(dir+"/numa_node", "1")
		if driver != "" {
			link(dir+"/driver", "../../../bus/pci/drivers/"+driver)
		}
		link(dir+"/iommu_group", fmt.Sprintf("../../kernel/iommu_groups/%d", group))
		write(fmt.Sprintf("sys/kernel/iommu_groups/%d/devices/%s", group, address), "")
		return dir
	}
	face := func(dir, name, state, flags string) {
		write(dir+"/net/"+name+"/address", "")
		for file, text := range map[string]string{"address": "3c:fd:fe:01:02:03", "operstate": state, "mtu": "1500", "speed": "10000", "carrier": "1", "flags": flags} {
			write("sys/class/net/"+name+"/"+file, text)
		}
	}
	p0 := pci("0000:01:00.0", "0x020000", "igb", 10)
	face(p0, "p0", "up", "0x1002")
	for file, text := range map[string]string{"sriov_totalvfs": "7", "sriov_numvfs": "2", "sriov_offset": "384", "sriov_stride": "2"} {
		write(p0+"/"+file, text)
	}
	for i, driver := range []string{"igbvf", "vfio-pci"} {
		address := fmt.Sprintf("0000:02:10.%d", 2*i)
		link(fmt.Sprintf("%s/virtfn%d", p0, i), "../"+address)
		vf := pci(address, "0x020000", driver, 20+i)
		link(vf+"/physfn", "../0000:01:00.0")
		if driver == "igbvf" {
			face(vf, "p0v0", "down", "0x1002")
		}
	}
	p1 := pci("0000:01:00.1", "0x020000", "igb", 11)
	face(p1, "p1", "up", "0x1003")
	pci("0000:05:00.0", "0x010802", "nvme", 11)
	pci("0000:00:01.0", "0x060400", "pcieport", 11)
	write("proc/net/route", "Iface\tDestination\tGateway\np1\t00000000\t0102000A\np1\t0002000A\t00000000")
	write("proc/net/vlan/config", "VLAN Dev name | VLAN ID\np1.7  | 7  | p1")
	write("proc/sys/kernel/random/boot_id", "this")
	return fakeSettings{files.Dir(root)}
}

// fakeSettings answers for the port p0 as netlink would.
type fakeSettings struct{ files.Dir }

func (fakeSettings) VFSettings(nic string) ([]VFSettings, error) {
	if nic != "p0" {
		return nil, os.ErrNotExist
	}
	return []VFSettings{{Index: 0, MAC: "02:00:00:00:00:01"}, {Index: 1, MAC: "02:00:00:00:00:02", VLAN: 401}}, nil
}

// TestFunctions: ports, their VFs, who uses them, and what shares an IOMMU group.
func TestFunctions(t *testing.T) {
	tree := cards(t)
	got := ReadFunctions(tree)
	if len(got) != 2 {
		t.Fatalf("%d functions: %+v", len(got), got)
	}
	p0, p1 := got[0], got[1]
	if p0.Interface != "p0" || p0.UsedBy != "" || p0.Uplink || p0.Carrier != "yes" || p0.TotalVFs != 7 || p0.NUMANode != 1 || p0.IOMMUGroup != 10 || len(p0.VFs) != 2 {
		t.Errorf("p0 is %+v", p0)
	}
	if v := p0.VFs[0]; v.Address != "0000:02:10.0" || v.UsedBy != "" || v.Interface != "p0v0" || v.Driver != "igbvf" || v.MAC != "02:00:00:00:00:01" {
		t.Errorf("VF 0 is %+v", v)
	}
	if v := p0.VFs[1]; v.UsedBy != "programs, by vfio-pci" || v.VLAN != 401 || v.IOMMUGroup != 21 {
		t.Errorf("VF 1 is %+v", v)
	}
	if p1.UsedBy != "the host, whose default route is by p1" || !p1.Uplink || len(p1.VLANs) != 1 || p1.VLANs[0] != 7 {
		t.Errorf("p1 is %+v", p1)
	}
	if len(p1.Companions) != 1 || p1.Companions[0] != "0000:05:00.0 (nvme)" {
		t.Errorf("beside p1 in its IOMMU group are %v: the disk is one, the bridge is none", p1.Companions)
	}
	if iommu := ReadIOMMU(tree); iommu.Groups != 4 || iommu.Unsafe {
		t.Errorf("the IOMMU: %+v", iommu)
	}
}

// TestVFAddress: existing VFs report their address; the address of others follows from
// offset and stride, and may be on the next bus.
func TestVFAddress(t *testing.T) {
	f := Function{Address: "0000:01:00.0", VFOffset: 384, VFStride: 2, VFs: []VirtualFunction{{Index: 0, Address: "0000:09:00.0"}}}
	for index, want := range map[int]string{0: "0000:09:00.0", 1: "0000:02:10.2", 6: "0000:02:11.4"} {
		if got := f.VFAddress(index); got != want {
			t.Errorf("VF %d: %s, want %s", index, got, want)
		}
	}
	if got := (Function{Address: "0000:01:00.0"}).VFAddress(0); got != "" {
		t.Errorf("without an offset: %q", got)
	}
}

// TestAClaimedFunctionIsItsLabs: a VF claimed by a lab of this boot belongs to the lab; claims of an earlier
// boot are void.
func TestAClaimedFunctionIsItsLabs(t *testing.T) {
	for _, c := range []struct{ boot, lab string }{{"this", "mine"}, {"earlier", ""}} {
		tree := cards(t)
		dir := tree.(fakeSettings).Path(ClaimsDir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "0000:02:10.0"), []byte(`{"lab":"mine","token":"t","boot":"`+c.boot+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if vf := ReadFunctions(tree)[0].VFs[0]; vf.Lab != c.lab || (vf.UsedBy == "") != (c.lab == "") {
			t.Errorf("claimed at the boot %s: %+v", c.boot, vf)
		}
	}
}

// TestIOMMUTranslates: true if the kernel reports translation for every group; in the
// identity domain of iommu=pt addresses are not translated.
func TestIOMMUTranslates(t *testing.T) {
	for name, test := range map[string]struct {
		groups map[string]string
		want   IOMMU
	}{
		"none":          {nil, IOMMU{}},
		"all":           {map[string]string{"0": "DMA", "1": "DMA-FQ"}, IOMMU{Groups: 2, Translates: true}},
		"passed":        {map[string]string{"0": "identity", "1": "identity"}, IOMMU{Groups: 2}},
		"one is passed": {map[string]string{"0": "DMA", "1": "identity"}, IOMMU{Groups: 2}},
		"not said":      {map[string]string{"0": ""}, IOMMU{Groups: 1}},
	} {
		root := t.TempDir()
		for group, kind := range test.groups {
			dir := filepath.Join(root, "sys/kernel/iommu_groups", group)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "type"), []byte(kind+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := ReadIOMMU(fakeSettings{files.Dir(root)}); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
