package tune

var memoryKinds = []kind{
	{
		Advice: Advice{
			Name:   "transparent_hugepage",
			What:   "Whether the kernel automatically uses huge pages for ordinary memory. never: no page fault clears 2 MiB at once, and khugepaged does not stop a process to collapse its pages. always: fewer TLB misses for programs that use much memory.",
			Cost:   "never: more TLB misses, unless a program uses huge pages from hugetlbfs, as DPDK does. always: page faults of hundreds of microseconds.",
			Source: "Documentation/admin-guide/mm/transhuge.rst; tuned network-latency (never), throughput-performance (always)",
		},
		path: "/sys/kernel/mm/transparent_hugepage/enabled", values: words("never", "never", "always"),
		absent: needsConfig("TRANSPARENT_HUGEPAGE"),
	},
	{
		Advice: Advice{
			Name:   "ksm",
			What:   "KSM compares pages to share equal ones: a thread that reads memory and write-protects it. 0 stops it; 2 also gives every process its own pages back, so that no write has to copy one.",
			Cost:   "Virtual machines share no memory: 2 needs free memory for all copies at once.",
			Source: "Documentation/admin-guide/mm/ksm.rst; tuned realtime-virtual-host (2)",
		},
		path: "/sys/kernel/mm/ksm/run", values: words("0", "2", ""), absent: needsConfig("KSM"),
	},
	{
		Advice: Advice{
			Name:  "vm.compaction_proactiveness",
			What:  "How eagerly memory is compacted before a huge page is requested: pages move, which flushes TLBs on all CPUs. With 0, compaction happens only on request.",
			Cost:  "A large page may take longer to get.",
			Since: "5.9", Source: "Documentation/admin-guide/sysctl/vm.rst",
		},
		path: "/proc/sys/vm/compaction_proactiveness", values: words("0", "0", ""),
	},
	{
		Advice: Advice{
			Name:   "vm.swappiness",
			What:   "How soon the kernel swaps a program's memory out instead of dropping cached files.",
			Cost:   "Files are read again sooner when memory is short.",
			Source: "Documentation/admin-guide/sysctl/vm.rst; tuned latency-performance and throughput-performance (10)",
		},
		path: "/proc/sys/vm/swappiness", values: words("10", "10", "10"),
	},
	{
		Advice: Advice{
			Name:   "vm.dirty_ratio",
			What:   "The share of memory, in percent, that may wait to be written to disk before writers must wait. Small: a log or a result is written in small portions, without a long stall. Large: disks write in large portions.",
			Cost:   "Small: programs that write much wait sooner. Large: stalls of seconds, and more data at risk.",
			Source: "Documentation/admin-guide/sysctl/vm.rst; the container study (5); tuned throughput-performance (40)",
		},
		path: "/proc/sys/vm/dirty_ratio", values: words("5", "5", "40"),
	},
	{
		Advice: Advice{
			Name:   "vm.dirty_background_ratio",
			What:   "The share of memory, in percent, from which on the kernel begins to write to disk in the background.",
			Cost:   "Small: more and smaller writes. Large: more data at risk when the machine stops.",
			Source: "Documentation/admin-guide/sysctl/vm.rst; the container study (1); tuned throughput-performance (10)",
		},
		path: "/proc/sys/vm/dirty_background_ratio", values: words("1", "1", "10"),
	},
}
