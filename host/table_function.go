package host

import (
	"fmt"
	"strings"

	"nines.dev/nines/terminal"
)

// writeFunctions lists the ports that have virtual functions or an IOMMU group, and the
// existing virtual functions.
func (inv *Inventory) writeFunctions(t *terminal.Table) {
	headed := false
	for _, f := range inv.Functions {
		if f.TotalVFs == 0 && f.IOMMUGroup < 0 && f.UsedBy == "" {
			continue
		}
		if !headed {
			t.Row()
			t.Row("card", "driver", "PCI", "NUMA", "IOMMU group", "carrier", "VFs", "used by")
			headed = true
		}
		t.Row(f.Name(), dash(f.Driver), f.Address, dashIf(f.NUMANode < 0, f.NUMANode),
			groupText(f.IOMMUGroup, f.Companions), dash(f.Carrier), dashIf(f.TotalVFs == 0, fmt.Sprintf("%d of %d", f.NumVFs, f.TotalVFs)), dash(f.UsedBy))
		for _, vf := range f.VFs {
			t.Row(fmt.Sprintf("  VF %d", vf.Index), dash(vf.Driver), vf.Address, "", groupText(vf.IOMMUGroup, nil),
				dash(vf.Interface), choose(vf.VLAN == 0, "-", fmt.Sprintf("VLAN %d", vf.VLAN)), dash(vf.UsedBy))
		}
	}
}

func groupText(group int, companions []string) string {
	switch {
	case group < 0:
		return "-"
	case len(companions) > 0:
		return fmt.Sprintf("%d with %s", group, strings.Join(companions, " "))
	}
	return fmt.Sprint(group)
}
