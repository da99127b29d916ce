package plan

import (
	"strings"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// TestSchedulingNotes: a plan notes how the kernel limits a real-time engine that never sleeps, and
// nothing else.
func TestSchedulingNotes(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(e *spec.Experiment, inv *host.Inventory)
		want   string // "": nothing
	}{
		{"throttled", nil, "RT throttling stops it for 50ms of each 1s, whether or not other threads need CPU 1"},
		{"fair server", func(_ *spec.Experiment, inv *host.Inventory) { inv.Config = nil },
			"the kernel's fair server gives up to 50ms of each 1s to ordinary threads that starve on CPU 1"},
		{"lifted on the host", func(_ *spec.Experiment, inv *host.Inventory) {
			inv.Settings = map[string]string{"/proc/sys/kernel/sched_rt_runtime_us": "-1"}
		}, ""},
		{"lifted by the file", func(e *spec.Experiment, _ *host.Inventory) { e.Tuning = spec.TuningRealtime }, ""},
		{"sleeps", func(e *spec.Experiment, _ *host.Inventory) { e.Topology.Nodes["dut"].App.Wait = spec.WaitBlock }, ""},
		{"sleeps on a shared CPU", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["dut"].App.Wait = spec.WaitBlock
			e.Topology.Nodes["gen"].Scheduling = &spec.Scheduling{Policy: spec.SchedulingFIFO, Priority: 1}
		}, "node gen is scheduled as fifo 1 on CPU 0, so it runs there before everything else"},
		{"interrupt threads", func(_ *spec.Experiment, inv *host.Inventory) { inv.Kernel.RealTime = true },
			"node dut polls with priority 50, and this kernel's interrupt threads have 50: the interrupt threads of CPU 1 never run"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, inv := two(), loadHost(t, "microvm")
			inv.Config = map[string]string{"RT_GROUP_SCHED": "y"}
			e.Topology.Nodes["dut"].App.Wait = spec.WaitSpin
			e.Topology.Nodes["dut"].Scheduling = &spec.Scheduling{Policy: spec.SchedulingFIFO, Priority: 50}
			if test.change != nil {
				test.change(e, inv)
			}
			p, err := Make(e, inv)
			if err != nil {
				t.Fatal(err)
			}
			var about []string
			for _, note := range p.Notes {
				if strings.Contains(note, "fifo") || strings.Contains(note, "priority") {
					about = append(about, note)
				}
			}
			switch all := strings.Join(about, "\n"); {
			case test.want == "" && all != "":
				t.Errorf("it notes: %s", all)
			case !strings.Contains(all, test.want):
				t.Errorf("it notes %q and not %q", all, test.want)
			}
		})
	}
}

// TestSystemdNote: systemd and an engine on one CPU get a note, on two they do not.
func TestSystemdNote(t *testing.T) {
	for cpus, want := range map[string]bool{"1": true, "0-1": false} {
		e := two()
		dut := e.Topology.Nodes["dut"]
		dut.Runtime, dut.CPUList = spec.RuntimeLXC, cpus
		dut.Rootfs = &spec.Rootfs{Kind: spec.RootfsDebian, Init: spec.InitSystemd}
		p, err := Make(e, loadHost(t, "microvm"))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(p.Notes, "\n"), "node dut has one CPU, so its systemd"); got != want {
			t.Errorf("with the CPUs %s: noted %v, want %v: %q", cpus, got, want, p.Notes)
		}
	}
}
