package link

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/plan"
)

// FunctionDifferences says how the PCI functions of a link are not as planned: their drivers, and what
// their ports hold for virtual functions.
func FunctionDifferences(p *plan.Plan, l plan.Link) []string {
	var bus pci.Bus
	var list []string
	for _, e := range l.Endpoints {
		f := e.Function
		add := func(format string, args ...any) {
			list = append(list, fmt.Sprintf("the function %s of %s ", f.Address, e.Name())+fmt.Sprintf(format, args...))
		}
		if f.Driver != "" {
			if now := bus.Driver(f.Address); now != string(f.Driver) {
				add("has the driver %q, and %q is planned", now, f.Driver)
			}
		}
		if f.Whole() {
			continue
		}
		name := bus.Interface(f.Port)
		held, err := pci.ReadVFSettings(name)
		if err != nil {
			add("is of a port that nothing can be read of: %v", err)
			continue
		}
		at := slices.IndexFunc(held, func(s pci.VFSettings) bool { return s.Index == f.Index })
		if at < 0 {
			add("is gone from its port %s", name)
			continue
		}
		for _, problem := range compareVF(held[at], f, macOf(p, l, e)) {
			add("%s (ip link show %s, vf %d)", problem, name, f.Index)
		}
	}
	return list
}

func macOf(p *plan.Plan, l plan.Link, e plan.Endpoint) string {
	for _, n := range p.Nodes {
		for _, i := range n.Interfaces {
			if n.Name == e.Node && i.Name == e.Interface && i.Link == l.Name {
				return i.MAC
			}
		}
	}
	return ""
}

// linkDisable is IFLA_VF_LINK_STATE_DISABLE.
const linkDisable = 2

// compareVF compares what a port holds for a virtual function. It is pure.
func compareVF(now pci.VFSettings, f plan.Function, mac string) []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if mac != "" && !strings.EqualFold(now.MAC, mac) {
		add("has the MAC address %s, and %s is planned", now.MAC, mac)
	}
	if now.VLAN != f.VLAN {
		add("has VLAN %d, and %d is planned", now.VLAN, f.VLAN)
	}
	if now.Trust != f.Trust {
		add("has trust %s, and %s is planned", onOff(now.Trust), onOff(f.Trust))
	}
	if now.SpoofCheck != f.SpoofCheck {
		add("has spoof checking %s, and %s is planned", onOff(now.SpoofCheck), onOff(f.SpoofCheck))
	}
	if now.MaxRateMbit != f.RateMbit {
		add("sends at most %d Mbit/s (0: no limit), and %d is planned", now.MaxRateMbit, f.RateMbit)
	}
	if now.LinkState == linkDisable {
		add("is disabled by its port")
	}
	return list
}
