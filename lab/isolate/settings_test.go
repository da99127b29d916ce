package isolate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/kernel/tasks"
)

// machine is a host of 40 CPUs, as files.
func machine(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestSettingsKeepInterruptsAndWorkOffCPUs(t *testing.T) {
	root := machine(t, map[string]string{
		"sys/devices/virtual/workqueue/cpumask":            "ff,ffffffff",
		"sys/devices/virtual/workqueue/writeback/cpumask":  "00,00000004",
		"sys/devices/virtual/workqueue/scsi_tmf_0/cpumask": "00,00000001",
		"proc/irq/default_smp_affinity":                    "ff,ffffffff",
		"proc/irq/9/smp_affinity_list":                     "0-39",
		"proc/irq/9/acpi/spurious":                         "",
		"proc/irq/34/smp_affinity_list":                    "2",
		"proc/irq/35/smp_affinity_list":                    "0-1",
		"sys/class/net/eth0/queues/rx-0/rps_cpus":          "80,00000001",
		"sys/class/net/eth0/queues/tx-0/xps_cpus":          "00,0000000c",
		"sys/class/net/eth0/queues/tx-1/xps_cpus":          "00,00000000",
	})
	var got []string
	for _, s := range Settings(Away{Root: root, Off: tasks.Set{2, 3, 39}, Housekeeping: tasks.Set{0, 1}}) {
		if s.What == "" || s.Cost == "" || s.Source == "" {
			t.Errorf("%s does not say what it does, costs and comes from: %+v", s.Name, s.Advice)
		}
		got = append(got, strings.TrimPrefix(s.Path, root)+" = "+s.Value+"; "+s.Device)
	}
	want := []string{
		"/sys/devices/virtual/workqueue/cpumask = 7f,fffffff3; ",
		"/sys/devices/virtual/workqueue/writeback/cpumask = 00,00000003; workqueue writeback",
		"/proc/irq/default_smp_affinity = 7f,fffffff3; ",
		"/proc/irq/9/smp_affinity_list = 0-1,4-38; irq 9 (acpi)",
		"/proc/irq/34/smp_affinity_list = 0-1; irq 34",
		"/sys/class/net/eth0/queues/rx-0/rps_cpus = 00,00000001; eth0 rx-0",
		"/sys/class/net/eth0/queues/tx-0/xps_cpus = 00,00000003; eth0 tx-0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMasks(t *testing.T) {
	for text, want := range map[string]string{
		"3": "0-1", "f": "0-3", "00,00000000": "", "80000000,00000001": "0,63", "ff,ffffffff": "0-39",
	} {
		cpus, err := parseMask(text)
		if err != nil || cpus.String() != want {
			t.Errorf("%q is %q, %v", text, cpus, err)
		}
		if back := formatMask(cpus, text); back != text {
			t.Errorf("%q came back as %q", text, back)
		}
	}
	if _, err := parseMask("0-3"); err == nil {
		t.Error("a list was taken for a bitmap")
	}
}
