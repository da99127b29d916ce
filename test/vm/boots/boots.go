// Package boots has the machines that the tests in the virtual laboratory run in, and makes what
// they start from.
package boots

import (
	"os"
	"slices"
	"strings"

	"nines.dev/nines/test/labtest"
	"nines.dev/nines/vm/boot"
	"nines.dev/nines/vm/vlab"
)

// Boot is a laboratory that tests run in.
type Boot struct {
	Name    string
	Options vlab.Options
}

// isolatedCPUs takes the CPUs of NUMA node 1 away from all but those who ask for them.
var isolatedCPUs = []string{"isolcpus=managed_irq,domain,2-3", "nohz_full=2-3", "rcu_nocbs=2-3", "irqaffinity=0-1"}

// All are as few as cover the kernels, the layouts of control groups and the boot
// parameters: a boot takes some seconds.
var All = []Boot{
	{labtest.BootMain, vlab.Options{Kernel: "debian12", Cgroup: boot.CgroupV2}},
	// Its IOMMU leaves addresses as they are, as drivers of UIO want it.
	{labtest.BootV1, vlab.Options{Kernel: "debian12", Cgroup: boot.CgroupV1, CommandLine: []string{"iommu=pt"}}},
	{labtest.BootIsolated, vlab.Options{Kernel: "debian12", Cgroup: boot.CgroupHybrid, CommandLine: isolatedCPUs}},
	{labtest.BootCloud, vlab.Options{Kernel: "cloud12", Cgroup: boot.CgroupV2}},
	{labtest.BootRT, vlab.Options{Kernel: "rt12", Cgroup: boot.CgroupV2}},
	{labtest.BootNew, vlab.Options{Kernel: "debian13", Cgroup: boot.CgroupV2}},
	{labtest.BootVirtio, vlab.Options{Kernel: "debian12", Cgroup: boot.CgroupV2, Virtio: true}},
	{labtest.BootNewVirt, vlab.Options{Kernel: "debian13", Cgroup: boot.CgroupV2, Virtio: true}},
	{labtest.BootNewRT, vlab.Options{Kernel: "rt13", Cgroup: boot.CgroupV2, CommandLine: isolatedCPUs}},
}

// Chosen are the boots of this run: those that NINES_VM_BOOTS names, or all.
func Chosen() []Boot {
	return slices.DeleteFunc(slices.Clone(All), func(b Boot) bool { return !IsChosen(b.Name) })
}

// IsChosen reports whether this run is to start a boot.
func IsChosen(name string) bool {
	some := os.Getenv("NINES_VM_BOOTS")
	return some == "" || slices.Contains(strings.Split(some, ","), name)
}
