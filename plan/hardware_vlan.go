package plan

import (
	"fmt"
	"slices"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// The VLAN ids that a plan assigns: IEEE 802.1Q reserves 0 and 4095, switches put untagged frames
// into 1, and low ids are the most likely to be in use beyond the cable.
const (
	firstVLAN = 100
	lastVLAN  = 4094
)

// assignVLANs gives each link of VFs a VLAN that no other link on its ports has: this separates
// links that share a port.
func (w *work) assignVLANs() error {
	taken := map[int]string{}
	for _, l := range w.links {
		if l.kind.Descriptor().End != spec.EndFunction || l.sriov().VLAN == 0 {
			continue
		}
		id := l.sriov().VLAN
		if user := w.vlanUser(l, id); user != "" {
			return at(hardwareOf(l, &Impossible{fmt.Sprintf("link %s requests VLAN %d", l.name, id), user, "remove vlan to let nines choose"}), l.steps("sriov", "vlan"))
		}
		if other := taken[id]; other != "" {
			w.note("Links %s and %s both have VLAN %d: only their ports separate them.", other, l.name, id)
		}
		taken[id] = l.name
		l.setVLAN(id)
	}
	for _, l := range w.links {
		if id := w.keptVLAN(l); id != 0 && taken[id] == "" && w.vlanUser(l, id) == "" {
			taken[id] = l.name
			l.setVLAN(id)
		}
	}
	for _, l := range w.links {
		if l.kind.Descriptor().End != spec.EndFunction || l.endpoints[0].function.VLAN != 0 {
			continue
		}
		const count = lastVLAN - firstVLAN + 1
		// Start at an id derived from the link's name, so that links keep theirs when others are
		// added.
		start := int(hash("vlan", w.prefix, l.name) % count)
		found := false
		for i := 0; i < count && !found; i++ {
			id := firstVLAN + (start+i)%count
			if taken[id] == "" && w.vlanUser(l, id) == "" {
				taken[id], found = l.name, true
				l.setVLAN(id)
			}
		}
		if !found {
			return at(hardwareOf(l, &Impossible{"link " + l.name + " needs its own VLAN", "all VLANs are in use on its ports", "take a lab down, or use other ports"}), l.steps("sriov"))
		}
	}
	return nil
}

func (l *link) setVLAN(id int) {
	for _, e := range l.endpoints {
		e.function.VLAN = id
	}
}

// vlanUser says who else uses a VLAN on the ports of a link; empty if nobody does.
func (w *work) vlanUser(l *link, id int) string {
	for _, e := range l.endpoints {
		c := w.findCard(e.function.Port)
		if slices.Contains(c.VLANs, id) {
			return fmt.Sprintf("the host has a VLAN device of that number on %s", c.Name())
		}
		i := slices.IndexFunc(c.VFs, func(vf host.VirtualFunction) bool {
			// VFs that this lab has, or will take, get a VLAN from this plan.
			return vf.VLAN == id && vf.Lab != w.exp.Name && c.given[vf.Index] == nil
		})
		if i >= 0 {
			return fmt.Sprintf("VF %d of %s has it%s", c.VFs[i].Index, c.Name(), choose(c.VFs[i].UsedBy == "", "", ", used by "+c.VFs[i].UsedBy))
		}
	}
	return ""
}
