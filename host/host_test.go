package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/golden"
)

func asJSON(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

// TestReplay: a recorded machine gives the same inventory as when it was recorded. The
// recording is of a real machine: a microVM with two CPUs and mixed control groups.
func TestReplay(t *testing.T) {
	data, err := os.ReadFile("testdata/microvm.recording.json")
	if err != nil {
		t.Fatal(err)
	}
	inv, err := Load(data)
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, hostFile("microvm"), asJSON(t, inv))
	if mode := inv.Cgroup.Mode; mode != CgroupHybrid {
		t.Errorf("cgroup mode %s, want %s: version 1 controllers beside a version 2 mount", mode, CgroupHybrid)
	}
	if m, ok := inv.Cgroup.Controller("cpuset"); !ok || m.Version != 1 || m.Path != "/sys/fs/cgroup/cpuset" {
		t.Errorf("cpuset is at %+v, %v; want version 1 at /sys/fs/cgroup/cpuset", m, ok)
	}
}

// TestConstructed: the files of the constructed machines match what construct gives, and
// Load accepts them.
func TestConstructed(t *testing.T) {
	for name, construct := range constructed {
		inv := construct()
		golden.Equal(t, hostFile(name), asJSON(t, inv))
		data, err := os.ReadFile(hostFile(name))
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := Load(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(inv, loaded); diff != "" {
			t.Errorf("%s is not the same when read back:\n%s", name, diff)
		}
	}
}

// TestReadThisMachine: a live reading is consistent, and its recording gives the
// same CPUs, memory nodes and features.
func TestReadThisMachine(t *testing.T) {
	inv, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	if len(inv.AllowedCPUs) == 0 || inv.Kernel.Release == "" || inv.MemoryBytes == 0 {
		t.Errorf("an empty inventory: %s", asJSON(t, inv))
	}
	for _, id := range inv.AllowedCPUs {
		cpu, err := inv.CPU(id)
		if err != nil || !cpu.Online || len(cpu.Siblings) == 0 || cpu.NUMANode < 0 {
			t.Errorf("CPU %d: %+v, %v", id, cpu, err)
		}
	}
	recording, err := Record()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := recording.Write(&b); err != nil {
		t.Fatal(err)
	}
	replayed, err := Load(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(inv.CPUs, replayed.CPUs); diff != "" {
		t.Errorf("CPUs differ when replayed:\n%s", diff)
	}
	if diff := cmp.Diff(inv.Features, replayed.Features); diff != "" {
		t.Errorf("features differ when replayed:\n%s", diff)
	}
}

// TestRecordingKeepsSecrets: a recording leaves out what names the machine or its owner.
func TestRecordingKeepsSecrets(t *testing.T) {
	r := &Recording{Files: map[string]string{
		"/proc/cpuinfo":              "processor\t: 0\nmodel name\t: X\nmicrocode\t: 0x5\n\n",
		"/proc/sys/kernel/hostname":  "5ecret\n",
		"/proc/cmdline":              "root=UUID=5ecret isolcpus=2-3 password=5ecret quiet -- --token 5ecret\n",
		"/proc/mounts":               "/dev/5ecret / ext4 rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
		"/proc/self/cgroup":          "0::/user.slice/5ecret\n",
		"/proc/self/status":          "Name:\t5ecret\nUid:\t0\t0\t0\t0\nCapEff:\t0000000000001000\nCpus_allowed_list:\t0\n",
		cpuRoot + "/present":         "0\n",
		cpuRoot + "/online":          "0\n",
		netRoot + "/eth0/address":    "3c:fd:fe:5e:c4:e7\n",
		"/boot/config-5.10":          "CONFIG_VETH=m\nCONFIG_5ECRET=y\n",
		"/proc/sys/kernel/osrelease": "5.10\n",
	}, Exist: map[string]bool{cpuRoot: true}, Dirs: map[string][]string{netRoot: {"eth0"}},
		Links: map[string]string{netRoot + "/eth0": "../../devices/pci0000:00/0000:00:03.0/net/eth0"}}
	got, err := recordTree(r)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := got.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"5ecret", "5ECRET", "c4:e7", "microcode"} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("the recording holds %q:\n%s", secret, &b)
		}
	}
	inv, err := Load(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if want := "isolcpus=2-3 quiet"; inv.Kernel.CommandLine != want {
		t.Errorf("command line %q, want %q", inv.Kernel.CommandLine, want)
	}
	if f := inv.Feature(FeatureVeth); f.State != StateModule {
		t.Errorf("veth is %s, want %s", f.State, StateModule)
	}
	if n := inv.NICs[0]; n.MAC != "3c:fd:fe:00:00:00" || n.PCIAddress != "0000:00:03.0" {
		t.Errorf("NIC %+v", n)
	}
	if p := inv.Privileges; !p.Root || !cmp.Equal(p.Capabilities, []string{"net_admin"}) {
		t.Errorf("privileges %+v", p)
	}
}

// TestNoProc: without /proc or /sys the error names what is missing.
func TestNoProc(t *testing.T) {
	for capability, tree := range map[string]*Recording{
		"proc":  {},
		"sysfs": {Files: map[string]string{"/proc/cpuinfo": "processor: 0\n"}},
	} {
		_, err := ReadTree(tree)
		var missing *exit.MissingError
		if !errors.As(err, &missing) || missing.Capability != capability || missing.ExitCode() != exit.Lacks {
			t.Errorf("without %s the error is %v", capability, err)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `{"schema":"nines/plan/v1"}`, `{"schema":"nines/host/v1"}`,
		`{"schema":"nines/host/v1","cpus":[{"id":1},{"id":0}],"numa_nodes":[{"id":0}]}`,
		`{"schema":"nines/host-recording/v1"}`,
	} {
		if inv, err := Load([]byte(text)); err == nil {
			t.Errorf("Load(%s) gives %+v, and no error", text, inv)
		}
	}
}

func TestTable(t *testing.T) {
	for _, name := range []string{"microvm", "epyc-7551p", "laptop-i7-1165g7"} {
		data, err := os.ReadFile(hostFile(name))
		if err != nil {
			t.Fatal(err)
		}
		inv, err := Load(data)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := inv.Write(&b); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "testdata/"+name+".table.txt", b.Bytes())
	}
}
