package busypoll

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/setting"
)

// resumeLatency is a CPU's file with the allowed wake-up latency from idle; "n/a" allows
// none, so that the CPU polls instead of sleeping
// (Documentation/ABI/testing/sysfs-devices-power; drivers/cpuidle/governor.c). Unlike
// /dev/cpu_dma_latency it applies to one CPU.
const resumeLatency = "/sys/devices/system/cpu/cpu%d/power/pm_qos_resume_latency_us"

// firstIdleState is "POLL" if the CPU can idle without halting.
const firstIdleState = "/sys/devices/system/cpu/cpu%d/cpuidle/state0/name"

// keepAwake keeps CPUs from halting: by PM QoS if all of them can idle without halting,
// otherwise by a thread on each that spins at SCHED_IDLE.
func (s Site) keepAwake(ctx context.Context, r Request, run *Running) error {
	if len(r.CPUs) == 0 {
		return errors.New("rx: awake needs the CPUs to keep awake")
	}
	run.note("%s never saves power while it is kept awake", cpusText(r.CPUs))
	if pollsIdle(r.CPUs) {
		run.Mechanism, run.Why = "pm_qos", "the CPUs can idle without a halt (cpuidle's state POLL)"
		for _, cpu := range r.CPUs {
			run.step("%s = n/a", fmt.Sprintf(resumeLatency, cpu))
			if s.DryRun {
				continue
			}
			step := journal.Step{Path: fmt.Sprintf(resumeLatency, cpu), Value: "n/a", Target: setting.HostLedger, Node: s.Node}
			if _, _, err := setting.Make(s.Journal, step); err != nil {
				return fmt.Errorf("keep CPU %d awake: %w", cpu, err)
			}
		}
		return nil
	}
	run.Mechanism, run.Why = "spin", "the CPUs have no idle state without a halt, so a thread spins at SCHED_IDLE"
	run.Scheduling = "idle:0"
	var err error
	run.Poller, err = s.startPoller(ctx, run, []string{"awake", "--cpus", cpuList(r.CPUs)})
	return err
}

func cpusText(cpus []int) string {
	if len(cpus) == 1 {
		return "CPU " + cpuList(cpus)
	}
	return "each of CPUs " + cpuList(cpus)
}

func pollsIdle(cpus []int) bool {
	for _, cpu := range cpus {
		name, err := os.ReadFile(fmt.Sprintf(firstIdleState, cpu))
		if err != nil || strings.TrimSpace(string(name)) != "POLL" {
			return false
		}
		if _, err := os.Stat(fmt.Sprintf(resumeLatency, cpu)); errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}
