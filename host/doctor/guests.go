package doctor

import (
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

var guestKinds = []findingKind{
	{"vm-translated", "the experiment's virtual machines have no KVM", "QEMU translates their instructions; timings mean nothing"},
	{"vm-untried", "it is unknown whether they have KVM until one boots", "in a virtual machine, /dev/kvm may exist and run nothing"},
}

// guests judges whether the experiment's virtual machines run on KVM. Without it QEMU
// translates their instructions (TCG), and timings mean nothing.
func guests(inv *host.Inventory, exp *spec.Experiment) []Finding {
	var translated, tried []string
	kvm := inv.Feature(host.FeatureKVM)
	for name, n := range exp.Topology.Nodes {
		if n == nil || !n.Runtime.Descriptor().Guest {
			continue
		}
		asked := spec.Acceleration("")
		if n.VM != nil {
			asked = n.VM.Acceleration
		}
		switch {
		case asked == spec.AccelerationTCG, kvm.State == host.StateNo:
			translated = append(translated, name)
		case kvm.State != host.StateYes:
			tried = append(tried, name)
		}
	}
	slices.Sort(translated)
	slices.Sort(tried)
	evidence := []Evidence{{"nines host", "kvm: " + string(kvm.State) + ", " + kvm.Detail}}
	const source = "docs/virtual-machines.md; QEMU, System Emulation, accelerators"
	var list []Finding
	if len(translated) > 0 {
		list = append(list, Finding{
			ID: "vm-translated", Subject: "virtual", Severity: host.SeverityWarning, Evidence: evidence,
			Title:    "virtual machines run without KVM (" + strings.Join(translated, ", ") + "), so timings mean nothing",
			Why:      "QEMU then translates each instruction, which takes ten times as long and more, and never the same.",
			Remedies: []Remedy{{Text: "use a host with KVM: bare metal with virtualisation on in the firmware, or a machine that allows nested ones", Commands: []string{"modprobe kvm_intel || modprobe kvm_amd"}}},
			Source:   source,
		})
	}
	if len(tried) > 0 {
		list = append(list, Finding{
			ID: "vm-untried", Subject: "virtual", Severity: host.SeverityNote, Evidence: evidence,
			Title:    "whether virtual machines (" + strings.Join(tried, ", ") + ") run by KVM shows when one boots",
			Why:      "In a virtual machine /dev/kvm may answer and yet run no guest. nines tries it, and falls back to TCG, with which timings mean nothing; the verdict of each trial says which it was.",
			Remedies: []Remedy{{Text: "see before the experiment: bring the lab up, and look at what nines inspect says of the node"}},
			Source:   source,
		})
	}
	return list
}
