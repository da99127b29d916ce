package plan

import (
	"slices"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// defaultAgeing is IEEE 802.1Q's (8.8.3, table 8-6), as the Linux bridge has it.
const defaultAgeing = spec.Duration(300e9)

// switchSettings are the user's settings, with the defaults filled in.
func (l *link) switchSettings() spec.Switch {
	s := spec.Switch{Ageing: defaultAgeing}
	if l.spec.Switch != nil {
		s = *l.spec.Switch
	}
	if s.CPUList == "" {
		defaultTo(&s.CPUs, 1)
	}
	defaultTo(&s.Forwarding, spec.ForwardingNormal)
	return s
}

// polls reports whether a link's program keeps its CPUs busy. A kernel datapath runs on the CPUs
// where packets arrive, and needs none of its own.
func (w *work) polls(l *link) bool {
	datapath := l.between().KernelDatapath
	if datapath == "" {
		return true
	}
	switch w.inv.Feature(datapath).State {
	case host.StateYes, host.StateModule:
		return false
	case host.StateNo, host.StateUnknown:
	}
	return true
}

// switchResult returns what a link's program gets; nil where the kind has none.
func (w *work) switchResult(l *link) *Switch {
	n := l.program
	if n == nil {
		return nil
	}
	s := &Switch{CPUs: []int{}, HousekeepingCPU: w.cpus.housekeeping[0], DPDK: n.dpdk, Settings: l.switchSettings(), Why: n.why}
	switch {
	case slices.Contains(w.cpus.sharing, n):
		s.CPUs = []int{n.engineCPU}
	case n.demand.count > 0:
		s.CPUs = n.cpus
	}
	return s
}
