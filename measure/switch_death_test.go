package measure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"nines.dev/nines/lab"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// TestASwitchThatIsKilledInATrialIsNamed kills the program of a link while packets pass it. The trial is
// invalid and says which program died, the other trial has a network that carries packets, and in the end
// nothing is left. Snabb and VPP are the real ones, where the host has them.
func TestASwitchThatIsKilledInATrialIsNamed(t *testing.T) {
	for kind, programs := range map[string][]string{
		"switch": nil, "testpmd": {"dpdk-testpmd"}, "ovs-dpdk": {"ovs-vswitchd"}, "snabb": {"snabb"}, "vpp": {"vpp", "vppctl"},
	} {
		for _, backend := range []string{"raw", "dpdk, wait: spin, io: batch"} {
			t.Run(kind+"/"+strings.Split(backend, ",")[0], func(t *testing.T) {
				if kind != "switch" || backend != "raw" {
					labtest.LongForm(t)
				}
				for _, program := range programs {
					labtest.Built(t, program)
				}
				labtest.Experiment(t)
				pages := "none"
				if kind == "snabb" || kind == "vpp" {
					labtest.Hugepages(t)
					pages = "reserve"
				}
				text := fmt.Sprintf(`
dpdk: {hugepages: %s}
topology:
  nodes: {a: {}, b: {app: {kind: reflect, backend: %s}}}
  links: [{name: l1, kind: %s, endpoints: ["a:x", "b:y"]}]
traffic: {from: "a:x", to: "a:x", backend: %s, rate_pps: 500, duration: 2s, warmup: 50ms, drain: 1s}
`, pages, backend, kind, backend)
				for try := 1; !killTheSwitch(t, text); try++ {
					if try == 5 {
						t.Fatal("no packet arrived in any first trial")
					}
					t.Log("a busy host let no packet arrive in the first trial, and nothing was killed: again")
				}
			})
		}
	}
}

// killTheSwitch measures two trials, and kills the program of the only link in the first as soon as packets arrive:
// false if none did.
func killTheSwitch(t *testing.T, text string) bool {
	t.Helper()
	experiment, writer := prepare(t, "switchdies", text, "repeat=2")
	trials, killed := 0, 0
	err := measureAll(context.Background(), experiment, writer, silent{
		began: func() { trials++ },
		received: func() {
			if trials == 1 && killed == 0 {
				killed = programOf(t, "switchdies")
				_ = syscall.Kill(killed, syscall.SIGKILL)
			}
		},
	})
	if killed == 0 && err == nil {
		noLabLeft(t)
		return false
	}
	died := (*DeathsError)(nil)
	if !errors.As(err, &died) || len(died.Deaths) != 1 || died.Deaths[0].Repeat != 1 || !strings.Contains(err.Error(), "of link l1 has died") {
		t.Errorf("Measure = %v, want one death in the first trial", err)
	}
	for _, trial := range writer.Summary().Trials {
		said := strings.Contains(strings.Join(trial.Reasons, "\n"), "of link l1 has died")
		switch {
		case said != (trial.Repeat == 1) || said && trial.Verdict != result.Invalid:
			t.Errorf("repeat %d is %s: %q", trial.Repeat, trial.Verdict, trial.Reasons)
		case trial.RxPackets == 0 && trial.Repeat == 2:
			t.Errorf("repeat 2 received nothing: %q", trial.Reasons)
		}
	}
	if len(writer.Summary().Trials) != 2 {
		t.Errorf("kept %+v, want both trials", writer.Summary().Trials)
	}
	noLabLeft(t)
	return true
}

// programOf is the process of a lab's only program that carries packets.
func programOf(t *testing.T, name string) int {
	l, err := lab.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	programs, err := l.Programs()
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		if program.Name != "ovsdb-server" { // which carries no packet
			return program.PID
		}
	}
	t.Fatalf("link l1 has no program that carries packets: %+v", programs)
	return 0
}
