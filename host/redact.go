package host

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"nines.dev/nines/kernel/pci"
)

// latencyParameters are the kernel parameters that affect latency. A recording keeps no
// others, because they name disks, hosts and secrets.
var latencyParameters = []string{
	"isolcpus", "nohz", "nohz_full", "rcu_nocbs", "rcu_nocb_poll", "irqaffinity", "idle", "nosmt", "mitigations",
	"intel_pstate", "amd_pstate", "intel_idle.max_cstate", "processor.max_cstate", "cpuidle.off", "cpufreq.default_governor",
	"preempt", "skew_tick", "tsc", "clocksource", "nmi_watchdog", "nowatchdog", "nosoftlockup", "mce", "audit", "hpet",
	"hugepages", "hugepagesz", "default_hugepagesz", "transparent_hugepage", "numa_balancing", "psi",
	"intel_iommu", "amd_iommu", "iommu", "cgroup_no_v1", "systemd.unified_cgroup_hierarchy", "threadirqs",
	"pcie_aspm", "pti", "nopti", "spectre_v2", "retbleed", "mds", "l1tf", "apparmor", "selinux", "kthread_cpus", "rcutree.kthread_prio",
	"workqueue.unbound_cpus", "rt_group_sched", "workqueue.power_efficient", "watchdog_thresh", "noirqbalance", "ksm", "cpuidle.governor", "maxcpus", "rcu_nocb_gp_stride",
	"random.trust_cpu", "rcupdate.rcu_normal_after_boot", "cpuidle_haltpoll.force", "haltpoll.guest_halt_poll_ns", "nomodule", "quiet",
}

// redact removes from a file what does not affect the machine's speed, and bulk that no
// inventory reads.
func redact(name string, data []byte) []byte {
	content := string(data)
	switch {
	case name == "/proc/cmdline":
		var kept []string
		for _, parameter := range strings.Fields(kernelParameters(content)) {
			key, _, _ := strings.Cut(parameter, "=")
			if slices.Contains(latencyParameters, key) {
				kept = append(kept, parameter)
			}
		}
		content = strings.Join(kept, " ") + "\n"
	case name == "/proc/sys/kernel/hostname":
		content = "recorded\n"
	case name == "/proc/mounts":
		content = keepLines(content, func(line string) bool {
			f := strings.Fields(line)
			return len(f) > 2 && (f[2] == "cgroup" || f[2] == "cgroup2")
		})
	case name == "/proc/self/cgroup":
		var b strings.Builder
		for line := range strings.Lines(content) {
			f := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(f) == 3 && f[2] != "/" {
				f[2] = "/redacted"
			}
			b.WriteString(strings.Join(f, ":") + "\n")
		}
		content = b.String()
	case name == "/proc/self/status":
		content = keepLines(content, func(line string) bool {
			key, _, _ := strings.Cut(line, ":")
			return slices.Contains([]string{"Uid", "CapEff", "Cpus_allowed_list"}, key)
		})
	case name == "/proc/meminfo":
		content = keepLines(content, func(line string) bool {
			return strings.HasPrefix(line, "Mem") || strings.HasPrefix(line, "SwapTotal")
		})
	case name == "/proc/stat":
		content = keepLines(content, func(line string) bool { return strings.HasPrefix(line, "cpu") })
	case name == kubeletFile:
		content = keepLines(content, func(line string) bool {
			key, _, _ := strings.Cut(line, ":")
			return slices.Contains(kubeletKeys, key)
		})
	case name == wakeLatencyFile:
		content = wakeLatencyText(data) // four bytes are no text, which JSON needs
	case name == "/proc/cpuinfo":
		content = keepLines(content, func(line string) bool {
			key, _, _ := strings.Cut(line, ":")
			return strings.TrimSpace(line) == "" || slices.Contains([]string{"processor", "model name", "flags", "Features"}, strings.TrimSpace(key))
		})
	case slices.Contains(configFiles, path.Base(name)) || strings.HasPrefix(name, "/boot/config-"):
		config := parseKernelConfig(data)
		var b strings.Builder
		for _, option := range configOptions() {
			if value := config[option]; value != "" {
				b.WriteString("CONFIG_" + option + "=" + value + "\n")
			}
		}
		content = b.String()
	case strings.HasPrefix(name, netRoot) && path.Base(name) == "address":
		content = redactMAC(strings.TrimSpace(content)) + "\n"
	case name == pci.RoutesFile:
		content = redactRoutes(content)
	case name == pci.Inet6File:
		content = redactInet6(content)
	case strings.HasPrefix(name, pci.ClaimsDir):
		content = "" // a lab's claim means nothing elsewhere
	}
	return []byte(content)
}

// redactMAC keeps the vendor's half; the other half identifies the card.
func redactMAC(mac string) string {
	if len(mac) != len("02:00:00:00:00:00") {
		return mac
	}
	return mac[:len("02:00:00")] + ":00:00:00"
}

// redactProgram keeps a program's path if every machine has that folder; other folders may
// name the machine's owner.
func redactProgram(found string) string {
	for _, usual := range []string{"/usr/", "/bin/", "/sbin/"} {
		if strings.HasPrefix(found, usual) {
			return found
		}
	}
	return path.Base(found)
}

// configFiles are the names of kernel configurations outside of /boot.
var configFiles = []string{"config.gz", "config"}

// configOptions are the options that an inventory asks for, sorted.
func configOptions() []string {
	list := append([]string{"BPF_SYSCALL", "IO_URING", "NET_RX_BUSY_POLL"}, latencyOptions...)
	for _, m := range preemptionModels {
		list = append(list, m.option)
	}
	for _, f := range configFeatures {
		list = append(list, f.option)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func keepLines(content string, keep func(line string) bool) string {
	var b strings.Builder
	for line := range strings.Lines(content) {
		if keep(strings.TrimRight(line, "\n")) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// redactRoutes keeps the interface of each route and whether it is a default route.
func redactRoutes(content string) string {
	var b strings.Builder
	for line := range strings.Lines(content) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		if f[0] != "Iface" && f[1] != "00000000" {
			f[1] = "redacted"
		}
		b.WriteString(f[0] + "\t" + f[1] + "\n")
	}
	return b.String()
}

// redactInet6 keeps the interface and scope of each address.
func redactInet6(content string) string {
	var b strings.Builder
	for line := range strings.Lines(content) {
		if f := strings.Fields(line); len(f) > 5 {
			b.WriteString(fmt.Sprintf("redacted 00 00 %s 00 %s\n", f[3], f[5]))
		}
	}
	return b.String()
}
