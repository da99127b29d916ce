package host

import (
	"fmt"
	"testing"
	"time"
)

func TestRealTimeStop(t *testing.T) {
	throttled := RealTimeStop{StopThrottling, 50 * time.Millisecond, time.Second}
	served := RealTimeStop{StopFairServer, 50 * time.Millisecond, time.Second}
	const runtimeFile, fairFile = "/proc/sys/kernel/sched_rt_runtime_us", "/sys/kernel/debug/sched/fair_server/cpu%d/runtime"
	no0, no1 := fmt.Sprintf(fairFile, 0), fmt.Sprintf(fairFile, 1)
	for _, test := range []struct {
		name, release, commandLine string
		groups                     bool
		settings                   map[string]string
		want                       RealTimeStop
	}{
		{"Debian 12", "6.1.0-32-amd64", "", false, nil, throttled},
		{"without a limit", "6.1.0-32-amd64", "", false, map[string]string{runtimeFile: "-1"}, RealTimeStop{}},
		{"all of the period", "6.1.0-32-amd64", "", false, map[string]string{runtimeFile: "1000000"}, RealTimeStop{}},
		{"less", "5.10.0", "", false, map[string]string{runtimeFile: "800000"}, RealTimeStop{StopThrottling, 200 * time.Millisecond, time.Second}},
		{"Debian 13", "6.12.41+deb13-amd64", "", false, nil, served},
		{"the sysctl is not the fair server's", "6.12.0", "", false, map[string]string{runtimeFile: "-1"}, served},
		{"no fair server", "6.12.0", "", false, map[string]string{no0: "0", no1: "0"}, RealTimeStop{}},
		{"on one CPU", "6.12.0", "", false, map[string]string{no0: "50000000", no1: "0"}, served},
		{"6.18 with RT_GROUP_SCHED", "6.18.44", "quiet", true, nil, throttled},
		{"and not in use", "6.18.44", "quiet rt_group_sched=0", true, nil, served},
	} {
		inv := &Inventory{CPUs: []CPU{{ID: 0}, {ID: 1}}, Kernel: Kernel{Release: test.release, CommandLine: test.commandLine}, Settings: test.settings}
		if test.groups {
			inv.Config = map[string]string{"RT_GROUP_SCHED": "y"}
		}
		if got := inv.RealTimeStop(); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
		if test.name == "on one CPU" {
			if got := inv.RealTimeStop(1); got.By != "" {
				t.Errorf("the other CPU: %+v", got)
			}
		}
	}
}
