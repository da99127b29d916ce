package host

import (
	"strconv"
	"time"
)

// The mechanisms by which the kernel takes a CPU back from real-time threads that never
// sleep.
const (
	// StopThrottling is RT throttling: real-time threads stand still for the rest of
	// each period, whether or not anybody wants the CPU (sched_rt_runtime_us,
	// Documentation/scheduler/sched-rt-group.rst). Since 6.12 only kernels with
	// RT_GROUP_SCHED have it.
	StopThrottling = "RT throttling"
	// StopFairServer is what came in its place in 6.12 (commit 5f6bd380c7bd): ordinary
	// threads that starve get 50 ms of each second, and nothing stops where none does.
	StopFairServer = "the fair server"
)

// RealTimeStop is how long of each period a real-time thread that never sleeps loses its
// CPU.
type RealTimeStop struct {
	// By is StopThrottling or StopFairServer; empty where nothing stops it.
	By           string
	Stop, Period time.Duration
}

// The values that a kernel starts with, in microseconds (kernel/sched/rt.c,
// kernel/sched/deadline.c: the fair server's are the same).
const (
	defaultPeriodUS  = 1_000_000
	defaultRuntimeUS = 950_000
)

// RealTimeStop tells what this kernel does to a real-time thread that never sleeps.
func (inv *Inventory) RealTimeStop() RealTimeStop {
	if inv.Kernel.AtLeast(6, 12) && !inv.RTGroupSched() {
		ns := inv.setting("/sys/kernel/debug/sched/fair_server/cpu0/runtime", (defaultPeriodUS-defaultRuntimeUS)*1000)
		if ns == 0 {
			return RealTimeStop{}
		}
		return RealTimeStop{StopFairServer, time.Duration(ns), defaultPeriodUS * time.Microsecond}
	}
	period := inv.setting("/proc/sys/kernel/sched_rt_period_us", defaultPeriodUS)
	runtime := inv.setting("/proc/sys/kernel/sched_rt_runtime_us", defaultRuntimeUS)
	if runtime < 0 || runtime >= period {
		return RealTimeStop{}
	}
	return RealTimeStop{StopThrottling, time.Duration(period-runtime) * time.Microsecond, time.Duration(period) * time.Microsecond}
}

// RTGroupSched tells whether the kernel shares the time of real-time threads out among
// control groups, of which a new one has none: sched_setscheduler(2) gives EPERM there.
// Since 6.16 the command line can turn that off.
func (inv *Inventory) RTGroupSched() bool {
	value, given := inv.Kernel.Parameter("rt_group_sched")
	return inv.Config["RT_GROUP_SCHED"] == "y" && !(given && value == "0")
}

func (inv *Inventory) setting(path string, otherwise int64) int64 {
	value, err := strconv.ParseInt(inv.Settings[path], 10, 64)
	if err != nil {
		return otherwise
	}
	return value
}
