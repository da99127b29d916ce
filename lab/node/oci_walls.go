package node

import (
	"fmt"
	"math/bits"
	"os"
	"slices"
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// capabilityNames are all capabilities by their numbers (include/uapi/linux/capability.h).
var capabilityNames = []string{
	"chown", "dac_override", "dac_read_search", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap",
	"linux_immutable", "net_bind_service", "net_broadcast", "net_admin", "net_raw", "ipc_lock", "ipc_owner",
	"sys_module", "sys_rawio", "sys_chroot", "sys_ptrace", "sys_pacct", "sys_admin", "sys_boot", "sys_nice",
	"sys_resource", "sys_time", "sys_tty_config", "mknod", "lease", "audit_write", "audit_control", "setfcap",
	"mac_override", "mac_admin", "syslog", "wake_alarm", "block_suspend", "audit_read", "perfmon", "bpf",
	"checkpoint_restore",
}

// ownCapabilities are those that this process has and can pass on.
func ownCapabilities() ([]string, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	mask := ^uint64(0)
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		if key != "CapBnd" && key != "CapPrm" {
			continue
		}
		set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("read /proc/self/status: %w", err)
		}
		mask &= set
	}
	return capabilitiesOf(mask), nil
}

// capabilitiesOf names the capabilities of a set; what is newer than the table is left out.
func capabilitiesOf(mask uint64) []string {
	var list []string
	for ; mask != 0; mask &= mask - 1 {
		if number := bits.TrailingZeros64(mask); number < len(capabilityNames) {
			list = append(list, capabilityNames[number])
		}
	}
	return list
}

// ociCapabilities are the walls' capabilities that this process has too: a driver cannot give more.
func ociCapabilities(w Walls, own []string) *specs.LinuxCapabilities {
	var list []string
	for _, name := range own {
		if w.Privileged || slices.Contains(w.Capabilities, name) {
			list = append(list, "CAP_"+strings.ToUpper(name))
		}
	}
	return &specs.LinuxCapabilities{Bounding: list, Effective: list, Permitted: list}
}
