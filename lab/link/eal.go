package link

import (
	"fmt"
	"strings"

	"nines.dev/nines/plan"
)

// ealArguments are the arguments for DPDK's environment layer (EAL) of a program of the lab, except
// its cores: anonymous memory, which the host gets back however the program ends, a prefix of its
// own, only devices of the plan, and no files or sockets outside the lab. See "EAL parameters" in
// DPDK's Linux guide.
func ealArguments(d plan.DPDK) []string {
	arguments := []string{
		"--iova-mode=va", "--no-telemetry", "--file-prefix=" + d.Prefix,
	}
	megabytes := (d.MemoryBytes + 1<<20 - 1) >> 20
	if d.Huge {
		node := max(d.MemoryNode, 0)
		arguments = append(arguments, "--in-memory",
			// The memory table of vhost-user has 8 entries (VHOST_MEMORY_MAX_NREGIONS); many small
			// files would overflow it.
			"--single-file-segments",
			fmt.Sprintf("--socket-mem=%s%d", strings.Repeat("0,", node), megabytes))
	} else {
		// --no-huge implies --legacy-mem, which excludes --in-memory; --no-shconf is the part of it
		// that remains: no files (eal_parse_args in lib/eal/linux/eal.c).
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

// runtimeDirectory keeps EAL's folder in a link's own: otherwise DPDK leaves /run/dpdk/PREFIX on
// the host, even without files to put there (eal_create_runtime_dir in
// lib/eal/unix/eal_filesystem.c).
func runtimeDirectory(dir string) string { return "RUNTIME_DIRECTORY=" + dir }
