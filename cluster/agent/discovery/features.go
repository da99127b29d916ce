package discovery

import (
	"strconv"

	nfd "sigs.k8s.io/node-feature-discovery/api/nfd/v1alpha1"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cpulist"
)

// The names of the features, for NodeFeatureRules: the part before the dot names their owner.
const (
	featurePrefix  = "nines."
	featureKernel  = "nines.kernel"
	featureCPU     = "nines.cpu"
	featureMemory  = "nines.memory"
	featureOVS     = "nines.ovs"
	featureDoctor  = "nines.doctor"
	featureFinding = "nines.finding"
	featureNIC     = "nines.nic"
	featureDPDK    = "nines.dpdk"
)

// Features returns what a node has, as the specification of a NodeFeature. It is pure. Nothing in it changes
// while the node stays the same: it has no counters, and no free memory.
func Features(n Node) nfd.NodeFeatureSpec {
	spec := *nfd.NewNodeFeatureSpec()
	spec.Labels = Labels(n)
	inv := n.Inventory
	attributes := func(name string, elements map[string]string) {
		for key, value := range elements {
			if value == "" {
				delete(elements, key)
			}
		}
		spec.Features.Attributes[name] = nfd.NewAttributeFeatures(elements)
	}
	attributes(featureKernel, map[string]string{
		"release": inv.Kernel.Release, "preemption": inv.Kernel.Preemption, "realtime": strconv.FormatBool(inv.Kernel.RealTime),
	})
	attributes(featureCPU, map[string]string{
		"count": strconv.Itoa(len(inv.AllowedCPUs)), "numa_nodes": strconv.Itoa(len(inv.NUMANodes)),
		"isolated": cpulist.Format(n.isolated()), "isolated_count": strconv.Itoa(len(n.isolated())), "smt": inv.SMT,
	})
	memory := map[string]string{}
	for _, pages := range inv.Hugepages {
		memory["hugepages_"+binary(pages.SizeBytes)] = strconv.FormatInt(pages.Total, 10)
	}
	attributes(featureMemory, memory)
	if n.OVS != nil {
		attributes(featureOVS, map[string]string{
			"version": n.OVS.Version, "dpdk": strconv.FormatBool(n.OVS.DPDK), "dpdk_version": n.OVS.DPDKVersion,
		})
	}
	attributes(featureDoctor, map[string]string{
		"verdict":  string(n.Report.Verdict),
		"warnings": strconv.Itoa(n.Report.Count(host.SeverityWarning)), "notes": strconv.Itoa(n.Report.Count(host.SeverityNote)),
	})
	var findings []string
	for _, f := range n.Report.Findings {
		findings = append(findings, f.ID)
	}
	spec.Features.Flags[featureFinding] = nfd.NewFlagFeatures(findings...)
	spec.Features.Instances[featureNIC] = cards(n)
	spec.Features.Instances[featureDPDK] = devices(inv)
	return spec
}

// cards returns the network cards, sorted by name.
func cards(n Node) nfd.InstanceFeatureSet {
	list := []nfd.InstanceFeature{}
	for _, nic := range n.cards() {
		list = append(list, *nfd.NewInstanceFeature(map[string]string{
			"name": nic.Name, "driver": nic.Driver, "pci_address": nic.PCIAddress, "state": nic.State,
			"numa_node": strconv.Itoa(nic.NUMANode), "speed_mbit": strconv.Itoa(nic.SpeedMbit), "mtu": strconv.Itoa(nic.MTU),
			"sriov_totalvfs": strconv.Itoa(nic.TotalVFs), "sriov_numvfs": strconv.Itoa(nic.NumVFs),
		}))
	}
	return nfd.InstanceFeatureSet{Elements: list}
}

// devices returns the devices that userspace programs drive.
func devices(inv *host.Inventory) nfd.InstanceFeatureSet {
	list := []nfd.InstanceFeature{}
	for _, device := range inv.PCIDevices {
		list = append(list, *nfd.NewInstanceFeature(map[string]string{
			"pci_address": device.Address, "driver": device.Driver, "numa_node": strconv.Itoa(device.NUMANode),
		}))
	}
	return nfd.InstanceFeatureSet{Elements: list}
}

// binary writes a page size as Kubernetes does in hugepages-2Mi.
func binary(size int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}} {
		if size >= unit.bytes && size%unit.bytes == 0 {
			return strconv.FormatInt(size/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(size, 10)
}
