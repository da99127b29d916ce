package host

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/kernel/files"
	"nines.dev/nines/kernel/netns"
)

// settingFiles are the settings that an inventory keeps.
var settingFiles = []string{
	"/proc/sys/kernel/sched_rt_runtime_us",
	"/proc/sys/kernel/sched_rt_period_us",
	"/proc/sys/kernel/timer_migration",
	"/proc/sys/kernel/nmi_watchdog",
	"/proc/sys/kernel/soft_watchdog",
	"/proc/sys/kernel/watchdog",
	"/proc/sys/kernel/watchdog_thresh",
	"/proc/sys/kernel/watchdog_cpumask",
	"/proc/sys/kernel/numa_balancing",
	"/proc/sys/vm/stat_interval",
	"/proc/sys/vm/swappiness",
	"/proc/sys/vm/compaction_proactiveness",
	"/proc/sys/net/core/busy_poll",
	"/proc/sys/net/core/busy_read",
	"/proc/irq/default_smp_affinity",
	"/sys/kernel/mm/transparent_hugepage/enabled",
	"/sys/kernel/mm/transparent_hugepage/defrag",
	"/sys/kernel/mm/ksm/run",
	"/sys/devices/virtual/workqueue/cpumask",
	"/sys/devices/virtual/workqueue/writeback/cpumask",
	"/sys/devices/system/machinecheck/machinecheck0/check_interval",
	"/sys/devices/system/machinecheck/machinecheck0/ignore_ce",
	"/sys/module/pcie_aspm/parameters/policy",
	"/sys/devices/system/cpu/smt/active",
	"/sys/devices/system/cpu/intel_pstate/status",
	"/sys/devices/system/cpu/amd_pstate/status",
	"/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver",
	"/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_transition_latency",
	"/sys/kernel/tracing/current_tracer",
	"/sys/module/haltpoll/parameters/guest_halt_poll_ns",
	"/sys/kernel/sched_ext/state",
	// What a new network takes from the host, and nines leaves to it: their defaults depend on the kernel's build and on
	// the memory (tcp_sk_init in net/ipv4/tcp_ipv4.c).
	"/proc/sys/net/core/devconf_inherit_init_net",
	"/proc/sys/net/ipv4/tcp_congestion_control",
	"/proc/sys/net/ipv4/tcp_rmem",
	"/proc/sys/net/ipv4/tcp_wmem",
}

// readSettings reads settingFiles, each CPU's fair server runtime, the CPU settings of the control group mounts, and
// those settings of interfaces in general that are not the kernel's defaults: a network that others than nines make has
// them, such as a pod's.
func readSettings(t Tree, inv *Inventory) map[string]string {
	paths := slices.Clone(settingFiles)
	if m, ok := inv.Cgroup.Controller("cpuset"); ok {
		if m.Version == 1 {
			paths = append(paths, m.Path+"/cpuset.sched_load_balance")
			// cset(1) creates these two.
			for _, shield := range []string{"system", "user"} {
				paths = append(paths, fmt.Sprintf("%s/%s/cpuset.cpu_exclusive", m.Path, shield))
			}
		} else {
			paths = append(paths, m.Path+"/cpuset.cpus.isolated", m.Path+"/cgroup.subtree_control")
		}
	}
	for _, cpu := range inv.CPUs {
		paths = append(paths, fmt.Sprintf("/sys/kernel/debug/sched/fair_server/cpu%d/runtime", cpu.ID))
	}
	settings := map[string]string{}
	for _, s := range netns.Defaults() {
		path := netns.SysctlPath(s.Name)
		if now := files.Text(t, path); now != "" && now != s.Value {
			settings[path] = now
		}
	}
	for _, path := range paths {
		value := files.Text(t, path)
		if chosen := bracketed(value); chosen != "" {
			value = chosen
		}
		if value != "" {
			settings[path] = value
		}
	}
	return settings
}

// services are programs that change kernel settings while they run, or that run on all
// CPUs, by their name in /proc/PID/comm, which the kernel cuts to 15 characters.
var services = []string{
	"auditd", "irqbalance", "ksmtuned", "kubelet", "numad", "power-profiles-", "stalld", "thermald", "tuned",
}

// wakeLatencyFile is held open by programs that forbid CPUs to sleep deeply
// (Documentation/power/pm_qos_interface.rst). Reading it changes nothing: an open file
// without a write sets no limit.
const wakeLatencyFile = "/dev/cpu_dma_latency"

// unlimitedWakeLatency is the value if no program requests less, 2000 s in µs
// (include/linux/pm_qos.h, PM_QOS_CPU_LATENCY_DEFAULT_VALUE).
const unlimitedWakeLatency = 2_000_000_000

// readWakeLatency reads the kernel's four bytes, or the text of a recording.
func readWakeLatency(t Tree) *int {
	data, err := t.ReadFile(wakeLatencyFile)
	if err != nil {
		return nil
	}
	var us int
	if _, err := fmt.Sscanf(wakeLatencyText(data), "%d microseconds", &us); err != nil || us == unlimitedWakeLatency {
		return nil
	}
	return &us
}

// wakeLatencyText formats the kernel's four bytes; text stays as it is.
func wakeLatencyText(data []byte) string {
	if len(data) == 4 { // an s32 in the machine's byte order
		return fmt.Sprintf("%d microseconds\n", int32(binary.NativeEndian.Uint32(data)))
	}
	return strings.TrimSpace(string(data)) + "\n"
}
