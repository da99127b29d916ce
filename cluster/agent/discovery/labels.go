package discovery

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"nines.dev/nines/host"
)

// Prefix is the prefix of the labels. Those that Node Feature Discovery sets have a dot in their names, so
// they never collide with labels that the agent sets itself.
const Prefix = "nines.dev/"

// Labels returns the labels for node selectors and affinities. It is pure. A label whose number is 0 is left
// out, so "Exists" means at least one.
func Labels(n Node) map[string]string {
	labels := map[string]string{}
	set := func(name, value string) {
		if value = labelValue(value); value != "" {
			labels[Prefix+name] = value
		}
	}
	count := func(name string, number int64) {
		if number > 0 {
			set(name, strconv.FormatInt(number, 10))
		}
	}
	inv := n.Inventory
	var up, fastest, functions, exist int64
	for _, nic := range n.cards() {
		if nic.State == "up" {
			up++
			fastest = max(fastest, int64(nic.SpeedMbit))
		}
		functions += int64(nic.TotalVFs)
		exist += int64(nic.NumVFs)
	}
	count("nic.count", int64(len(n.cards())))
	count("nic.up", up)
	count("nic.speed-mbit", fastest)
	count("sriov.vfs", exist)
	if functions > 0 {
		set("sriov.capable", "true")
	}
	count("numa.nodes", int64(len(inv.NUMANodes)))
	count("cpu.isolated", int64(len(n.isolated())))
	for _, pages := range inv.Hugepages {
		count("hugepages."+binary(pages.SizeBytes), pages.Total)
	}
	count("dpdk.devices", int64(len(inv.PCIDevices)))
	if n.OVS != nil {
		set("ovs.running", "true")
		set("ovs.version", n.OVS.Version)
		if n.OVS.DPDK {
			set("ovs.dpdk", "true")
		}
	}
	set("kernel.version", inv.Kernel.Release)
	set("kernel.preemption", inv.Kernel.Preemption)
	set("doctor.verdict", string(n.Report.Verdict))
	count("doctor.warnings", int64(n.Report.Count(host.SeverityWarning)))
	return labels
}

// labelValue makes a valid label value of a text: invalid characters become underscores, and it begins and
// ends with a letter or a digit.
func labelValue(text string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case isAlphanumeric(r), r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, text)
	clean = strings.TrimLeft(clean, "-_.")
	clean = clean[:min(len(clean), validation.LabelValueMaxLength)]
	return strings.TrimRight(clean, "-_.")
}

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
