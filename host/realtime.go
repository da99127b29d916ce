package host

import (
	"fmt"
	"strconv"
	"time"
)

// The mechanisms by which the kernel takes a CPU away from real-time threads that never
// sleep.
const (
	// StopThrottling is RT throttling: real-time threads are stopped for the rest of
	// each period, whether or not other threads want the CPU (sched_rt_runtime_us,
	// Documentation/scheduler/sched-rt-group.rst). Since 6.12 only kernels with
	// RT_GROUP_SCHED have it.
	StopThrottling = "RT throttling"
	// StopFairServer replaced it in 6.12 (commit 5f6bd380c7bd): ordinary threads that
	// starve get 50 ms of each second; without such threads nothing is stopped.
	StopFairServer = "the fair server"
)

// RealTimeStop is how long a real-time thread that never sleeps loses its CPU in each
// period.
type RealTimeStop struct {
	// By is StopThrottling or StopFairServer; empty if nothing stops it.
	By           string
	Stop, Period time.Duration
}

// The kernel's defaults, in microseconds (kernel/sched/rt.c, kernel/sched/deadline.c: the
// fair server has the same).
const (
	defaultPeriodUS  = 1_000_000
	defaultRuntimeUS = 950_000
)

// RealTimeStop returns what this kernel does to a real-time thread that never sleeps, on
// the CPU where it is worst: of the given CPUs, or of all without any.
func (inv *Inventory) RealTimeStop(cpus ...int) RealTimeStop {
	if inv.Kernel.AtLeast(6, 12) && !inv.RTGroupSched() {
		if len(cpus) == 0 {
			for _, cpu := range inv.CPUs {
				cpus = append(cpus, cpu.ID)
			}
		}
		var longest int64
		for _, cpu := range cpus {
			path := fmt.Sprintf("/sys/kernel/debug/sched/fair_server/cpu%d/runtime", cpu)
			longest = max(longest, inv.setting(path, (defaultPeriodUS-defaultRuntimeUS)*1000))
		}
		if longest == 0 {
			return RealTimeStop{}
		}
		return RealTimeStop{StopFairServer, time.Duration(longest), defaultPeriodUS * time.Microsecond}
	}
	period := inv.setting("/proc/sys/kernel/sched_rt_period_us", defaultPeriodUS)
	runtime := inv.setting("/proc/sys/kernel/sched_rt_runtime_us", defaultRuntimeUS)
	if runtime < 0 || runtime >= period {
		return RealTimeStop{}
	}
	return RealTimeStop{StopThrottling, time.Duration(period-runtime) * time.Microsecond, time.Duration(period) * time.Microsecond}
}

// RTGroupSched reports whether control groups share out the time of real-time threads. A new
// group has no share: sched_setscheduler(2) returns EPERM there. Since 6.16 the command
// line can turn this off.
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
