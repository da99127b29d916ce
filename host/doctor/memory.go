package doctor

import (
	"fmt"

	"nines.dev/nines/host"
	"nines.dev/nines/terminal"
)

var memory = subject{"memory", (*judge).memory, []findingKind{
	{"transparent-hugepages", "the kernel makes huge pages for all programs", "clearing 2 MiB takes some 200 µs"},
	{"ksm", "the kernel merges equal pages", "a write to such a page copies it first"},
	{"numa-balancing", "the kernel moves memory between NUMA nodes", "it unmaps pages to see who uses them"},
	{"swap", "the kernel may swap pages out", "the disk is slow"},
	{"hugepages", "no hugepages are reserved", "DPDK needs them; the TLB misses less"},
}}

// memory looks at what moves, merges, splits or reads in pages while a program runs.
func (j *judge) memory() {
	j.hugePages()
	j.samePages()
	j.balancing()
	j.swap()
	j.reserved()
}

func (j *judge) hugePages() {
	const path = "/sys/kernel/mm/transparent_hugepage/enabled"
	if j.inv.TransparentHugepages != "always" {
		return
	}
	const clearUS = 210 // 2 MiB at 10 GB/s
	evidence := []Evidence{{path, "always"}}
	if defrag, ok := j.setting("/sys/kernel/mm/transparent_hugepage/defrag"); ok {
		evidence = append(evidence, Evidence{"/sys/kernel/mm/transparent_hugepage/defrag", defrag})
	}
	j.find(Finding{
		ID: "transparent-hugepages", Severity: host.SeverityWarning,
		Title:    "transparent hugepages are enabled for all programs",
		Evidence: evidence,
		Why:      "A first touch of memory clears 2 MiB instead of 4 KiB, and may compact memory first; khugepaged does so later, and stops the program while it replaces the pages.",
		Cost:     &Cost{FromUS: 10, ToUS: clearUS, When: "at a page fault, and when khugepaged joins pages of the program", Basis: BasisComputed, Source: "2 MiB cleared at 10 GB/s; compaction adds to it"},
		Remedies: j.write("enable them only for programs that request them", path, "madvise"),
		Source:   "Documentation/admin-guide/mm/transhuge.rst; " + tunedNetwork,
	})
}

func (j *judge) samePages() {
	const path = "/sys/kernel/mm/ksm/run"
	run, _ := j.setting(path)
	if run != "1" {
		return
	}
	j.find(Finding{
		ID: "ksm", Severity: host.SeverityNote,
		Title:    "KSM merges equal pages of programs and virtual machines",
		Evidence: []Evidence{{path, run}},
		Why:      "ksmd reads memory all the time and write-protects pages, so that the next write to one has to copy it first.",
		Cost:     &Cost{FromUS: 1, ToUS: 5, When: "at a write to a merged page", Basis: BasisEstimate, Source: "a page fault, a copy of 4 KiB and a flush of other CPUs' TLBs"},
		Remedies: j.write("unmerge them and stop; this needs the memory that was saved", path, "2"),
		Source:   "Documentation/admin-guide/mm/ksm.rst; tuned's profile realtime-virtual-host (ksm run=2)",
	})
}

func (j *judge) balancing() {
	const path = "/proc/sys/kernel/numa_balancing"
	value, ok := j.setting(path)
	if !ok || value == "0" || len(j.inv.NUMANodes) < 2 {
		return
	}
	j.find(Finding{
		ID: "numa-balancing", Severity: host.SeverityWarning,
		Title:    "the kernel moves programs' memory between NUMA nodes",
		Evidence: []Evidence{{path, value}, {"/sys/devices/system/node/online", terminal.Count(len(j.inv.NUMANodes), "node")}},
		Why:      "It unmaps parts of a program's memory to see which CPUs use them, in the program's own time; each access is then a page fault, and pages may be copied to another node.",
		Cost:     &Cost{FromUS: 1, ToUS: 1000, When: "each second or less often, while programs run", Basis: BasisComputed, Source: "256 MiB (numa_balancing scan_size_mb) are 65,536 entries of page tables, at some 15 ns each (Documentation/admin-guide/sysctl/kernel.rst)"},
		Remedies: j.write("do not move memory; cpuset.mems already places the memory of a lab's nodes", path, "0"),
		Source:   "Documentation/admin-guide/sysctl/kernel.rst; " + tunedNetwork,
	})
}

func (j *judge) swap() {
	if j.inv.SwapBytes == 0 {
		return
	}
	evidence := []Evidence{{"/proc/meminfo, SwapTotal", fmt.Sprintf("%.1f GiB", float64(j.inv.SwapBytes)/(1<<30))}}
	if value, ok := j.setting("/proc/sys/vm/swappiness"); ok {
		evidence = append(evidence, Evidence{"/proc/sys/vm/swappiness", value})
	}
	j.find(Finding{
		ID: "swap", Severity: host.SeverityNote,
		Title:    "pages of programs may be swapped out",
		Evidence: evidence,
		Why:      "A program that touches such a page waits for the disk.",
		Cost:     &Cost{FromUS: 100, ToUS: 10000, When: "when memory is short, at a page that was swapped out", Basis: BasisEstimate, Source: "a read takes some 100 µs from flash and 10 ms from a spinning disk"},
		Remedies: []Remedy{{Text: "use none while measuring, if memory suffices", Commands: []string{"swapoff -a"}}},
		Source:   "swapoff(8); Documentation/admin-guide/sysctl/vm.rst",
	})
}

// reserved notes that no hugepages are reserved; for an experiment the plan counts them.
func (j *judge) reserved() {
	if j.scope.Isolation != "" || len(j.inv.Hugepages) == 0 {
		return
	}
	for _, size := range j.inv.Hugepages {
		if size.Total > 0 {
			return
		}
	}
	const pages = 512 // as libmoon's script reserves (thesis, 5.4.1)
	j.find(Finding{
		ID: "hugepages", Severity: host.SeverityNote,
		Title:    "no hugepages are reserved",
		Evidence: []Evidence{{"/sys/kernel/mm/hugepages/*/nr_hugepages", "0"}},
		Why:      "DPDK keeps packets in them: with small pages the CPU looks up addresses more often, and some devices cannot use their memory.",
		Cost:     &Cost{FromUS: 0.03, ToUS: 0.5, When: "at each miss of the TLB", Basis: BasisEstimate, Source: "a page walk of up to four reads, from the cache or from memory"},
		Remedies: []Remedy{{Text: "let nines reserve an experiment's pages and release them: --set dpdk.hugepages=reserve"},
			{Text: "reserve some now, while contiguous memory is free", Commands: []string{fmt.Sprintf("sysctl -w vm.nr_hugepages=%d", pages)}}},
		Source: "DPDK, Getting Started Guide for Linux, 2.3; " + thesis + ", 5.4.1",
	})
}
