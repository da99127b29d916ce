// Package devices runs the devices of examples/devices as their files say, and with declarations that are wrong.
package devices

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// lacking is nines' exit code where the host cannot do what is asked.
const lacking = 3

// laboratory begins the command of an example that needs the kernel of the virtual laboratory.
const laboratory = "nines vlab run"

// commands are those of an example's first comment.
func commands(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, line := range strings.Split(string(text), "\n") {
		if command, is := strings.CutPrefix(line, "#     "); is {
			command = strings.TrimPrefix(command, "sudo ")
			list = append(list, strings.Replace(command, laboratory, "nines run", 1)) // this is in it
		}
	}
	return list
}

// run runs an example's commands in the repository, and gives the result and what nines said; nil where it refused.
func run(t *testing.T, file string, arguments ...string) (*result.Summary, string) {
	t.Helper()
	labtest.Experiment(t)
	out, root := t.TempDir(), labtest.Repository()
	printed := commands(t, file)
	if len(printed) == 0 || !strings.HasPrefix(printed[len(printed)-1], "nines run examples/devices/"+filepath.Base(file)) {
		t.Fatalf("%s does not begin with its commands, the last of which runs it: %q", file, printed)
	}
	var said []byte
	for i, line := range printed {
		words := strings.Fields(line)
		if i == len(printed)-1 {
			words = append(words, append([]string{"--out", out}, arguments...)...)
		}
		command := exec.CommandContext(t.Context(), words[0], words[1:]...)
		if words[0] == "nines" {
			command.Path = filepath.Join(root, "bin", "nines")
			command.Err = nil
		}
		command.Dir = root
		output, err := command.CombinedOutput()
		said = output
		if command.ProcessState.ExitCode() == lacking {
			labtest.Require(t, string(output), false)
		}
		if err != nil && i < len(printed)-1 {
			t.Fatalf("%s: %v\n%s", line, err, output)
		}
	}
	text, err := os.ReadFile(filepath.Join(out, "latest", "summary.json"))
	if err != nil {
		return nil, string(said)
	}
	var summary result.Summary
	if err := json.Unmarshal(text, &summary); err != nil {
		t.Fatal(err)
	}
	return &summary, string(said)
}

// TestEachExampleRunsAsPrinted: its packets come by the declared path. Times and verdicts are those of a busy host.
func TestEachExampleRunsAsPrinted(t *testing.T) {
	files, err := filepath.Glob("../../examples/devices/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), laboratory) {
			continue // TestLabExamplesThatNeedItsKernel
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			if strings.Contains(string(text), "\nimages:") || strings.Contains(string(text), "make setup-") {
				labtest.LongForm(t) // it builds an image of Debian's packages, or a program from their source
			}
			runAsPrinted(t, file, strings.Count(string(text), "\n"))
		})
	}
}

// TestLabExamplesThatNeedItsKernel run there as printed: WireGuard, GRE, VLAN devices, flowtables.
func TestLabExamplesThatNeedItsKernel(t *testing.T) {
	labtest.VirtualLab(t)
	files, err := filepath.Glob("../../examples/devices/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), laboratory) {
			continue
		}
		ran++
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			runAsPrinted(t, file, strings.Count(string(text), "\n"))
		})
	}
	if ran < 5 {
		t.Errorf("%d examples", ran)
	}
}

func runAsPrinted(t *testing.T, file string, lines int) {
	if lines > 40 {
		t.Errorf("%d lines", lines)
	}
	summary, said := run(t, file)
	if summary == nil || len(summary.Trials) == 0 {
		t.Fatalf("no result:\n%s", said)
	}
	for _, trial := range summary.Trials {
		path := trial.SeenPath
		if trial.RxPackets == 0 || path == nil || !path.Declared || path.Words == "" {
			t.Errorf("trial %s: %d packets, path %+v:\n%s", trial.ID, trial.RxPackets, path, said)
		}
		for _, reason := range trial.Reasons {
			if strings.Contains(reason, "did not come as planned") {
				t.Errorf("trial %s: %s", trial.ID, reason)
			}
		}
	}
}

// TestAWrongDeclarationIsInvalid: the device is there and works, and its file says something else of it.
func TestAWrongDeclarationIsInvalid(t *testing.T) {
	for _, test := range []struct {
		example string
		set     []string
		reason  string // a part of a trial's
	}{
		{"testpmd-macswap", []string{"topology.nodes.dut.app.leaves=unchanged"}, "dut's device must leave them unchanged"},
		{"testpmd-io", []string{"topology.nodes.dut.app.leaves=forwarded", "traffic.backend=raw"}, "packets did not come as planned: unchanged (the sender's MAC"},
		{"tc", []string{"topology.nodes.dut.app.leaves=routed"}, "probes ended at loadgen:rx: their destination MAC address is of another interface (OTHERHOST)"},
		{"tc", []string{"topology.nodes.dut.app.leaves=routed", "traffic.backend=raw"}, "packets did not come as planned: unchanged"},
		{"firewall", []string{"topology.nodes.dut.app.leaves=unchanged"}, "probes ended at dut:in: their destination MAC address is of another interface (OTHERHOST)"},
		{"firewall", []string{`topology.nodes.dut.exec=[[nft, add, table, ip, wall], [nft, "add chain ip wall forward { type filter hook forward priority 0; policy drop; }"]]`}, "probes ended at dut:in: a rule of netfilter dropped them (NETFILTER_DROP)"},
		{"firewall", []string{"topology.nodes.dut.app.leaves=forwarded", `topology.nodes.dut.sysctls={"net.ipv4.ip_forward": 1}`}, "packets did not come as planned: routed by dut: TTL -1"},
		{"masquerade", []string{"topology.nodes.dut.app.leaves=routed"}, "packets did not come as planned: translated by dut"},
		{"c-forwarder", []string{"topology.nodes.dut.app.leaves=forwarded"}, "probes ended at dut:in: their address is not this node's, and its kernel does not forward (IP_INADDRERRORS)"},
		{"c-forwarder", []string{"topology.nodes.dut.app.leaves=unchanged"}, "probes ended at dut:in: their destination MAC address is of another interface (OTHERHOST)"},
		{"c-forwarder", []string{"topology.nodes.dut.services=[]"}, "probes ended at dut:in: no program listens on their UDP port there (NO_SOCKET)"},
		{"xdp", []string{"topology.links.out.kind=vxlan"}, "probes ended at dut:in: an XDP program there redirected them to an interface that takes no XDP frames (XDP_REFUSED "},
		// The kernel carries packets past the program, as the file lets it.
		{"c-forwarder", []string{"topology.nodes.dut.app.leaves=forwarded", `topology.nodes.dut.sysctls={"net.ipv4.ip_forward": 1}`}, "packets did not come as planned: routed by dut: TTL -1 (TTL 63); dut's device must leave them forwarded"},
	} {
		t.Run(test.example+" "+strings.Join(test.set, " "), func(t *testing.T) {
			arguments := []string{"--set", "traffic.path_timeout=300ms", "--set", "traffic.duration=200ms", "--set", "traffic.warmup=50ms"}
			for _, set := range test.set {
				arguments = append(arguments, "--set", set)
			}
			summary, said := run(t, "../../examples/devices/"+test.example+".yaml", arguments...)
			if summary == nil || len(summary.Trials) == 0 {
				t.Fatalf("no result:\n%s", said)
			}
			for _, trial := range summary.Trials {
				if trial.Verdict != result.Invalid || trial.Refused != (trial.RxPackets == 0) {
					t.Errorf("the trial is %s, refused %v, the path %+v", trial.Verdict, trial.Refused, trial.SeenPath)
				}
				if !slices.ContainsFunc(trial.Reasons, func(r string) bool { return strings.Contains(r, test.reason) }) {
					t.Errorf("%q, without %q", trial.Reasons, test.reason)
				}
			}
		})
	}
}

// TestADeviceThatReturnsNothingIsRefused: a file whose packets cannot come back is wrong before anything is built.
func TestADeviceThatReturnsNothingIsRefused(t *testing.T) {
	summary, said := run(t, "../../examples/devices/python-echo.yaml", "--set", "topology.nodes.dut.app.leaves=relayed")
	if summary != nil || !strings.Contains(said, "no node returns the packets") {
		t.Errorf("%+v\n%s", summary, said)
	}
}

// late is a forwarder that says it is ready and begins to forward some time later.
const late = `topology.nodes.dut.services=[{name: fwd, run: [sh, -c, 'echo listening; sleep 2; exec /tmp/fwd "$NINES_PORT" "$NINES_TO_IP"'], ready: {output: listening}}]`

// TestTheFirstTrialWaitsForTheDevice: what its file calls ready is not yet a path.
func TestTheFirstTrialWaitsForTheDevice(t *testing.T) {
	summary, said := run(t, "../../examples/devices/c-forwarder.yaml", "--set", late)
	if summary == nil || len(summary.Trials) != 1 {
		t.Fatalf("no result:\n%s", said)
	}
	trial := summary.Trials[0]
	if path := trial.SeenPath; path == nil || path.AwaitedNs < int64(time.Second) || trial.RxPackets == 0 || strings.Contains(trial.LostAs, "lost packets are the first ") {
		t.Errorf("%d packets, path %+v, lost as %q", trial.RxPackets, path, trial.LostAs)
	}
}

// TestLossAtTheBeginningIsNamed: where nobody waits, the first packets are lost, and the result says that it is these.
func TestLossAtTheBeginningIsNamed(t *testing.T) {
	summary, said := run(t, "../../examples/devices/c-forwarder.yaml", "--set", late, "--set", "traffic.path_timeout=0s", "--set", "traffic.warmup=0s",
		"--set", "traffic.duration=10s", "--set", "traffic.rate_pps=200")
	if summary == nil || len(summary.Trials) != 1 {
		t.Fatalf("no result:\n%s", said)
	}
	trial := summary.Trials[0]
	if !strings.Contains(trial.LostAs, "lost packets are the first ") {
		t.Errorf("%d of %d packets came, lost as %q", trial.RxPackets, trial.TxPackets, trial.LostAs)
	}
}
