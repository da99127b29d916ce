package host

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"

	"nines.dev/nines/kernel/files"
)

// kernelConfig maps CONFIG_ names, without that prefix, to y or m; nil if the
// kernel's configuration was not found.
type kernelConfig map[string]string

// configPaths are where distributions keep the running kernel's configuration.
func configPaths(release string) []string {
	return []string{
		"/proc/config.gz",
		"/boot/config-" + release,
		"/lib/modules/" + release + "/config",
	}
}

func readKernelConfig(t Tree) kernelConfig {
	for _, path := range configPaths(files.Text(t, "/proc/sys/kernel/osrelease")) {
		data, err := t.ReadFile(path)
		if err != nil {
			continue
		}
		if config := parseKernelConfig(data); len(config) > 0 {
			return config
		}
	}
	return nil
}

// maxConfigBytes limits what we unpack; a distribution's configuration has 300 kB.
const maxConfigBytes = 4 << 20

// parseKernelConfig reads "CONFIG_VETH=y" lines, packed or plain.
func parseKernelConfig(data []byte) kernelConfig {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) { // gzip, RFC 1952 section 2.3.1
		unpacker, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil
		}
		if data, err = io.ReadAll(io.LimitReader(unpacker, maxConfigBytes)); err != nil {
			return nil
		}
	}
	config := kernelConfig{}
	for line := range strings.SplitSeq(string(data), "\n") {
		name, value, ok := strings.Cut(line, "=")
		if name, isOption := strings.CutPrefix(name, "CONFIG_"); ok && isOption {
			if value == "y" || value == "m" || name == hzOption {
				config[name] = value
			}
		}
	}
	return config
}

// hzOption is the frequency of the timer tick, the only numeric option that is kept.
const hzOption = "HZ"

// latencyOptions are the options that affect latency, in addition to those of features.
var latencyOptions = []string{
	"NO_HZ_FULL", "RCU_NOCB_CPU", "CPU_ISOLATION", "RT_GROUP_SCHED", "CPUSETS", "HIGH_RES_TIMERS",
	"PREEMPT_NONE", "PREEMPT_VOLUNTARY", "PREEMPT_LAZY", "PREEMPT", "PREEMPT_DYNAMIC", "PREEMPT_RT", hzOption,
	"HARDLOCKUP_DETECTOR", "X86_MCE", "NUMA_BALANCING", "KSM", "TRANSPARENT_HUGEPAGE", "CPU_FREQ", "CPU_IDLE",
	"PROVE_LOCKING", "LOCKDEP", "KASAN", "KCSAN", "KMEMLEAK", "DEBUG_OBJECTS", "DEBUG_ATOMIC_SLEEP", "DEBUG_PAGEALLOC", "SLUB_DEBUG_ON",
}

// latencyConfig keeps only the options in latencyOptions.
func latencyConfig(config kernelConfig) map[string]string {
	if config == nil {
		return nil
	}
	kept := map[string]string{}
	for _, option := range latencyOptions {
		if value := config[option]; value != "" {
			kept[option] = value
		}
	}
	return kept
}

func readKernel(t Tree, config kernelConfig) Kernel {
	k := Kernel{
		Release:     files.Text(t, "/proc/sys/kernel/osrelease"),
		Version:     files.Text(t, "/proc/sys/kernel/version"),
		Machine:     files.Text(t, "/proc/sys/kernel/arch"), // since 6.1
		CommandLine: kernelParameters(files.Text(t, "/proc/cmdline")),
	}
	for _, name := range []string{"vmlinuz", "vmlinux", "Image", "kernel"} {
		if path := "/boot/" + name + "-" + k.Release; k.Image == "" && t.Exists(path) {
			k.Image = path
		}
	}
	k.RealTime = files.Text(t, "/sys/kernel/realtime") == "1" || strings.Contains(k.Version, "PREEMPT_RT")
	k.Preemption = preemption(t, k, config)
	return k
}

// kernelParameters cuts off what follows "--": that is for init and may be private.
func kernelParameters(cmdline string) string {
	before, _, _ := strings.Cut(cmdline+" ", " -- ")
	return strings.TrimSpace(before)
}

// preemptionModels are the choices of kernel/Kconfig.preempt. One of them is set; with
// PREEMPT_DYNAMIC it is the model at boot.
var preemptionModels = []struct{ option, name string }{
	{"PREEMPT_NONE", "none"}, {"PREEMPT_VOLUNTARY", "voluntary"},
	{"PREEMPT_LAZY", "lazy"}, {"PREEMPT", "full"},
}

// preemption finds the preemption model: from debugfs, otherwise from the command line,
// otherwise from the configuration.
func preemption(t Tree, k Kernel, config kernelConfig) string {
	if k.RealTime {
		return "rt"
	}
	if now := bracketed(files.Text(t, "/sys/kernel/debug/sched/preempt")); now != "" {
		return now
	}
	dynamic := strings.Contains(k.Version, "PREEMPT_DYNAMIC")
	if dynamic {
		for _, parameter := range strings.Fields(k.CommandLine) {
			if value, ok := strings.CutPrefix(parameter, "preempt="); ok {
				return value
			}
		}
	}
	for _, model := range preemptionModels {
		if config[model.option] == "y" {
			return model.name
		}
	}
	switch {
	case dynamic:
		return "dynamic"
	case strings.Contains(k.Version, "PREEMPT"):
		return "full"
	}
	return ""
}

// Parameter returns the value of a parameter on the kernel command line, empty for one
// without a value. Of several the last counts, as for most of them.
func (k Kernel) Parameter(name string) (value string, given bool) {
	for _, parameter := range strings.Fields(k.CommandLine) {
		if key, v, _ := strings.Cut(parameter, "="); key == name {
			value, given = v, true
		}
	}
	return value, given
}

// AtLeast reports whether the kernel's release is at least major.minor.
func (k Kernel) AtLeast(major, minor int) bool {
	var haveMajor, haveMinor int
	if n, _ := fmt.Sscanf(k.Release, "%d.%d", &haveMajor, &haveMinor); n != 2 {
		return false
	}
	return haveMajor > major || haveMajor == major && haveMinor >= minor
}

// readDistribution reads os-release(5).
func readDistribution(t Tree) Distribution {
	values := map[string]string{}
	for line := range strings.SplitSeq(files.Text(t, "/etc/os-release"), "\n") {
		if key, value, ok := strings.Cut(line, "="); ok {
			values[key] = strings.Trim(value, `"'`)
		}
	}
	return Distribution{ID: values["ID"], Version: values["VERSION_ID"], Name: values["PRETTY_NAME"]}
}
