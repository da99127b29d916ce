package plan

import (
	"fmt"
	"strings"

	"nines.dev/nines/terminal"
)

// text names the function, and what is set on it.
func (f Function) text() string {
	words := []string{f.Address}
	if !f.Whole() {
		words[0] = fmt.Sprintf("VF %d of %s (%s)", f.Index, f.Name, f.Address)
		words = append(words, fmt.Sprintf("VLAN %d", f.VLAN))
		if f.Trust {
			words = append(words, "trusted")
		}
		if f.SpoofCheck {
			words = append(words, "spoof check")
		}
		if f.RateMbit > 0 {
			words = append(words, fmt.Sprintf("at most %d Mbit/s", f.RateMbit))
		}
	} else if f.Name != "" {
		words[0] = fmt.Sprintf("%s (%s)", f.Name, f.Address)
	}
	if f.Driver != "" {
		words = append(words, "driver "+string(f.Driver))
	}
	return strings.Join(words, ", ")
}

// writePorts lists the ports whose virtual functions are used.
func (p *Plan) writePorts(t *terminal.Table) {
	if len(p.PhysicalFunctions) == 0 {
		return
	}
	t.Row()
	t.Row("PORT", "PCI", "VFS", "USED BY")
	for _, port := range p.PhysicalFunctions {
		var given []string
		for _, l := range p.Links {
			for _, e := range l.Endpoints {
				if e.Function.Port == port.Address {
					given = append(given, fmt.Sprintf("%d: %s:%s", e.Function.Index, e.Node, e.Interface))
				}
			}
		}
		t.Row(port.Name, port.Address, port.VFs, strings.Join(given, ", "))
	}
}
