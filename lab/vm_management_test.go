package lab

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"nines.dev/nines/lab/login"
	"nines.dev/nines/test/labs"
)

// TestAVirtualMachineOnTheManagementNetwork: its last network card is on it, also after a restart, and
// it knows the others' names, as they know its own.
//
//	load:tx ──in, a tap── dut:in      load:mgmt, dut:mgmt (a tap) ──bridge── host
func TestAVirtualMachineOnTheManagementNetwork(t *testing.T) {
	labs.NeedQEMU(t)
	labs.NeedDnsmasq(t)
	text := `
name: tbvmmgmt
topology:
  nodes:
    load: {}
    dut: {runtime: vm, vm: {acceleration: tcg}}
  links:
    - {name: in, endpoints: ["load:tx", "dut:in"]}
management: {}
`
	lab := up(t, text)
	check := func(when string) {
		t.Helper()
		for _, name := range []string{"load", "load.mgmt"} {
			if out := in(t, lab, "dut", "ping", "-c1", "-W60", name); !strings.Contains(out, " 0% packet loss") {
				t.Errorf("%s: dut to %s: %s", when, name, out)
			}
		}
		for _, name := range []string{"dut", "dut.mgmt"} {
			in(t, lab, "load", "ping", "-c1", "-W60", name)
		}
		if out, err := exec.Command("ping", "-c1", "-W60", lab.Plan().ManagementAddress(*lab.Plan().Node("dut"))).CombinedOutput(); err != nil {
			t.Errorf("%s: the host to dut: %v: %s", when, err, out)
		}
		if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
			t.Errorf("%s: %v, %v", when, faults, err)
		}
	}
	labs.NeedSSHServer(t)
	other := newKey(t, "other")
	logIn := func(when string) {
		t.Helper()
		ssh := func(input string, argv ...string) (string, error) {
			cmd, err := login.Command(lab.Lab, "dut", argv)
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			cmd.Stdin = strings.NewReader(input)
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		if out, err := ssh("", "uname -n; cat /proc/1/comm"); err != nil || out != lab.Plan().Node("dut").HostName+"\ninit\n" {
			t.Errorf("%s: the guest says %q, %v", when, out, err)
		}
		long := strings.Repeat("a line of words\n", 1<<14)
		if out, err := ssh(long, "cat; cat >&2 /dev/null; exit 7"); out != long || exitCodeOf(err) != 7 {
			t.Errorf("%s: of %d bytes %d came back, %v", when, len(long), len(out), err)
		}
		if out, err := ssh("", "kill -TERM $$"); exitCodeOf(err) != 128+15 {
			t.Errorf("%s: a command that a signal ends: %v, %s", when, err, out)
		}
		if _, err := byClient(other, lab.State().KnownHosts(), lab.Plan().ManagementAddress(*lab.Plan().Node("dut")), "true"); err == nil || !strings.Contains(err.Error(), "Permission denied") {
			t.Errorf("%s: someone with another key: %v", when, err)
		}
	}
	check("at first")
	logIn("at first")
	if out := in(t, lab, "dut", "cat", "/etc/resolv.conf"); !strings.Contains(out, "nameserver "+lab.Plan().Management.Server) {
		t.Errorf("whom the guest asks: %s", out)
	}
	if err := lab.Restart(context.Background(), []string{"dut"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	check("after a restart")
	logIn("after a restart")
	booted := func() string { return in(t, lab, "dut", "cat", "/proc/sys/kernel/random/boot_id") }
	before := booted()
	text = strings.Replace(text, "management: {}", "management: {ssh_keys: ["+other+".pub]}", 1)
	if _, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)}); err != nil {
		t.Fatal(err)
	}
	if out, err := byClient(other, lab.State().KnownHosts(), lab.Plan().ManagementAddress(*lab.Plan().Node("dut")), "cat /proc/sys/kernel/random/boot_id"); err != nil || out != before {
		t.Errorf("who may log in since apply: %v; the guest was booted again: %v", err, err == nil && out != before)
	}
}

// exitCodeOf is how a command ended; -1 if that is not known.
func exitCodeOf(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}
