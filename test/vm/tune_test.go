package vm

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"nines.dev/nines/host/tune"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/vm/boots"
	"nines.dev/nines/vm/boot"
	"nines.dev/nines/vm/guestagent"
	"nines.dev/nines/vm/vlab"
)

// tuneBoots are the kernels that must take what nines tune plan prints for them.
var tuneBoots = []boots.Boot{
	{Name: "tuned 12", Options: vlab.Options{Kernel: "debian12", Cgroup: boot.CgroupV2}},
	{Name: "tuned 13", Options: vlab.Options{Kernel: "debian13", Cgroup: boot.CgroupV2}},
}

// What nines tune plan prints is what the kernel is started with next, and then is in
// force. isolcpus=domain is asked for, since only that shows in a file.
func TestBootParametersOfTunePlanAreInEffect(t *testing.T) {
	labtest.LongForm(t) // four boots
	repository, store := required(t)
	for _, b := range tuneBoots {
		t.Run(b.Name, func(t *testing.T) {
			plan := func(parameters []string) (printed tune.Plan, files map[string]string) {
				t.Helper()
				one := b
				one.Options.CommandLine = parameters
				lab, err := startLaboratory(t.Context(), repository, store, one)
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := lab.Stop(); err != nil {
						t.Error(err)
					}
				}()
				text := said(t, lab, vlab.ProgramFolder+"/nines", "tune", "plan", "--cpus", "2-3", "--profile", "realtime",
					"--boot", "isolcpus=managed_irq,domain", "--format", "json")
				if err := json.Unmarshal([]byte(text), &printed); err != nil {
					t.Fatalf("%v: %s", err, text)
				}
				files = map[string]string{}
				for _, path := range []string{
					"/proc/cmdline", "/sys/devices/system/cpu/nohz_full", "/sys/devices/system/cpu/isolated", "/proc/irq/default_smp_affinity",
					"/proc/sys/kernel/nmi_watchdog", "/sys/devices/system/clocksource/clocksource0/current_clocksource",
				} {
					files[path] = strings.TrimSpace(said(t, lab, "cat", path))
				}
				return printed, files
			}
			before, _ := plan(nil)
			if before.BootLine == "" {
				t.Fatalf("no boot parameters: %+v", before.Boot)
			}
			after, files := plan(strings.Fields(before.BootLine))
			for _, word := range strings.Fields(before.BootLine) {
				if !strings.Contains(" "+files["/proc/cmdline"]+" ", " "+word+" ") {
					t.Errorf("%s is not in the command line: %s", word, files["/proc/cmdline"])
				}
			}
			for path, want := range map[string]string{
				"/sys/devices/system/cpu/nohz_full": "2-3", "/sys/devices/system/cpu/isolated": "2-3", "/proc/irq/default_smp_affinity": "3",
			} {
				if strings.TrimLeft(files[path], "0") != want {
					t.Errorf("%s is %q, want %q", path, files[path], want)
				}
			}
			for _, p := range after.Boot {
				if p.Absent == "" && !p.InForce {
					t.Errorf("%s is not in force: %+v", p.Text, p)
				}
			}
			if after.BootLine != before.BootLine {
				t.Errorf("the plan is another after the boot:\n%s\n%s", before.BootLine, after.BootLine)
			}
		})
	}
}

// said is what a command says in the laboratory.
func said(t *testing.T, lab *vlab.Laboratory, argv ...string) string {
	t.Helper()
	var out, errors bytes.Buffer
	code, err := lab.Do(t.Context(), guestagent.Request{Argv: argv, Dir: "/"}, guestagent.Streams{Stdout: &out, Stderr: &errors})
	if err != nil || code != 0 {
		t.Fatalf("%v: exit code %d, %v: %s", argv, code, err, errors.String())
	}
	return out.String()
}
