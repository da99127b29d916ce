package link

import (
	"fmt"
	"strings"

	"nines.dev/nines/plan"
)

// ealArguments are the arguments for DPDK's environment layer (EAL) that a program of
// the lab gets, but for its cores: memory that is anonymous and so goes back to the
// host however the program ends, a prefix of its own, no devices but those of the
// plan, and no files or sockets outside the lab.
// See "EAL parameters" in DPDK's Linux guide.
func ealArguments(d plan.DPDK) []string {
	arguments := []string{
		"--iova-mode=va", "--no-telemetry", "--file-prefix=" + d.Prefix,
	}
	megabytes := (d.MemoryBytes + 1<<20 - 1) >> 20
	if d.Huge {
		node := max(d.MemoryNode, 0)
		arguments = append(arguments, "--in-memory",
			// A memory table of vhost-user has 8 entries (VHOST_MEMORY_MAX_NREGIONS), which
			// many small files would overflow.
			"--single-file-segments",
			fmt.Sprintf("--socket-mem=%s%d", strings.Repeat("0,", node), megabytes))
	} else {
		// It implies --legacy-mem, with which --in-memory cannot be; what is left of that
		// is to have no file of its own (eal_parse_args in lib/eal/linux/eal.c).
		arguments = append(arguments, "--no-shconf", "--no-huge", fmt.Sprintf("-m%d", megabytes))
	}
	if len(d.PCI) == 0 {
		return append(arguments, "--no-pci")
	}
	for _, address := range d.PCI {
		arguments = append(arguments, "--allow="+address)
	}
	return arguments
}

// runtimeDirectory keeps EAL's folder below a link's own: DPDK would else leave
// /run/dpdk/PREFIX on the host, also where it has no file to put there
// (eal_create_runtime_dir in lib/eal/unix/eal_filesystem.c).
func runtimeDirectory(dir string) string { return "RUNTIME_DIRECTORY=" + dir }
