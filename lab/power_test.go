package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/lab/bmc"
	"nines.dev/nines/lab/change"
	"nines.dev/nines/lab/dryrun"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// A process beside the lab answers IPMI and Redfish, nines bmc: what it is made of counts for these tests, though no code here
// imports it (test/selection).
var _ = []string{"cmd/nines/bmc.go", "power/ipmi", "power/redfish"}

// powerText is labs.Power with a password file; it returns that, too.
func powerText(t testing.TB, runtime, address string) (text, path string) {
	t.Helper()
	path = labs.PasswordFile(t)
	return strings.NewReplacer("RUNTIME", keysOf(t, runtime), "name: tbpower", "name: tbpow"+runtime, "ADDRESS", address, "PASSWORD", path).Replace(labs.Power), path
}

// settled waits until a node is on or off and no action runs on it, and returns its pid 1.
func settled(t *testing.T, lab *Lab, nodeName string, on bool) int {
	t.Helper()
	pid := 0
	labtest.Eventually(t, fmt.Sprintf("%s is on: %v", nodeName, on), func() bool {
		now, err := Open(lab.Name())
		if err != nil {
			t.Fatal(err)
		}
		s, err := now.PowerState(nodeName)
		if err != nil {
			t.Fatal(err)
		}
		pid = now.PID(nodeName)
		return s.On == on && !s.Changing && now.Finished()
	})
	return pid
}

// TestClientsSwitchANode: the programs that switch servers switch a node, whose network stays.
func TestClientsSwitchANode(t *testing.T) {
	for i, runtime := range []string{"netns", "lxc", "oci-runc"} {
		t.Run(runtime, func(t *testing.T) {
			labtest.Root(t)
			needRuntime(t, runtime)
			needClient(t, "ipmitool")
			address := fmt.Sprintf("127.77.1.%d", i+1)
			text, password := powerText(t, runtime, address)
			lab := up(t, text)
			c := console{t: t, address: address, password: password, port: 6001} // dut is the first by name
			before := map[string]string{}
			for _, n := range lab.Plan().Nodes {
				before[n.Name] = network(t, lab, n.Name)
			}
			carried := carriers(t, lab, "load") + carriers(t, lab, "far")
			same := func(what string) {
				t.Helper()
				now, err := Open(lab.Name())
				if err != nil {
					t.Fatal(err)
				}
				for name, was := range before {
					for _, i := range lab.Plan().Node(name).Interfaces {
						in(t, now, name, "ping", "-c1", "-W60", i.Neighbours[0].IP)
					}
					if is := network(t, now, name); is != was {
						t.Errorf("%s: the network of %s was\n%s\nand is\n%s", what, name, was, is)
					}
				}
				if is := carriers(t, now, "load") + carriers(t, now, "far"); is != carried {
					t.Errorf("%s: the carriers of the other ends had changed %s and now %s", what, carried, is)
				}
				// Its engine answers again, too.
				labtest.Eventually(t, what+": all is as planned", func() bool { return len(problems(t, now)) == 0 })
			}
			steps := []struct {
				name    string
				do      func() (string, int)
				on, new bool
			}{
				{"ipmitool reset, suite 17", func() (string, int) { return c.ipmitool(17, "power", "reset") }, true, true},
				{"ipmitool cycle, suite 3", func() (string, int) { return c.ipmitool(3, "power", "cycle") }, true, true},
				{"ipmitool soft", func() (string, int) { return c.ipmitool(17, "power", "soft") }, false, false},
				{"ipmitool on", func() (string, int) { return c.ipmitool(17, "power", "on") }, true, true},
				{"ipmitool off", func() (string, int) { return c.ipmitool(3, "power", "off") }, false, false},
				{"ipmitool off, again", func() (string, int) { return c.ipmitool(17, "power", "off") }, false, false},
				{"ipmitool reset of one that is off", func() (string, int) { return c.ipmitool(17, "power", "reset") }, true, true},
				{"ipmitool on, again", func() (string, int) { return c.ipmitool(17, "power", "on") }, true, false},
			}
			if runtime == "netns" || runtime == "lxc" && labtest.Long() {
				for _, client := range []string{"fence_ipmilan", "fence_redfish", "redfishtool", "ipmipower"} {
					needClient(t, client)
				}
				err := exec.Command("/usr/bin/python3", "-c", "import sushy").Run()
				labtest.Require(t, "python3-sushy", err == nil)
				for _, agent := range []string{"fence_ipmilan", "fence_redfish"} {
					for _, one := range []struct {
						action  string
						on, new bool
					}{{"status", true, false}, {"reboot", true, true}, {"off", false, false}, {"on", true, true}} {
						steps = append(steps, struct {
							name    string
							do      func() (string, int)
							on, new bool
						}{agent + " " + one.action, func() (string, int) { return c.fence(agent, one.action) }, one.on, one.new})
					}
				}
				steps = append(steps, []struct {
					name    string
					do      func() (string, int)
					on, new bool
				}{
					{"redfishtool ForceRestart", func() (string, int) { return c.redfishtool("Systems", "-I", "dut", "reset", "ForceRestart") }, true, true},
					{"redfishtool setBootOverride", func() (string, int) {
						return c.redfishtool("Systems", "-I", "dut", "setBootOverride", "Once", "Pxe")
					}, true, false},
					{"redfishtool GracefulShutdown", func() (string, int) { return c.redfishtool("Systems", "-I", "dut", "reset", "GracefulShutdown") }, false, false},
					{"sushy boot option", func() (string, int) {
						return c.sushy(`system.set_system_boot_options(sushy.BOOT_SOURCE_TARGET_PXE, enabled=sushy.BOOT_SOURCE_ENABLED_ONCE)
system.refresh()
assert system.boot.target == sushy.BOOT_SOURCE_TARGET_PXE, system.boot
assert system.power_state == sushy.POWER_STATE_OFF, system.power_state`)
					}, false, false},
					{"sushy on", func() (string, int) { return c.sushy(`system.reset_system(sushy.RESET_ON)`) }, true, true},
					{"sushy graceful restart", func() (string, int) {
						return c.sushy(`assert system.boot.enabled == sushy.BOOT_SOURCE_ENABLED_DISABLED, system.boot
system.reset_system(sushy.RESET_GRACEFUL_RESTART)`)
					}, true, true},
					{"ipmipower off", func() (string, int) { return c.ipmipower("off") }, false, false},
					{"ipmipower on", func() (string, int) { return c.ipmipower("on") }, true, true},
					{"ipmipower reset", func() (string, int) { return c.ipmipower("reset") }, true, true},
				}...)
			}
			pid := settled(t, lab, "dut", true)
			for _, step := range steps {
				said, code := step.do()
				if code != 0 {
					log, _ := os.ReadFile(lab.State().PowerLog())
					t.Fatalf("%s: exit code %d: %s\nthe program says:\n%s", step.name, code, said, log)
				}
				var now int
				labtest.Eventually(t, step.name+" has happened", func() bool {
					now = settled(t, lab, "dut", step.on)
					return !step.new || now != pid
				})
				if !step.new && step.on && now != pid {
					t.Errorf("%s: pid 1 was %d and is %d", step.name, pid, now)
				}
				want := "off"
				if step.on {
					same(step.name)
					want, pid = "on", now
				}
				if said, code := c.ipmitool(17, "power", "status"); code != 0 || !strings.Contains(said, "Chassis Power is "+want) {
					t.Errorf("%s: the status is %s, exit code %d", step.name, said, code)
				}
			}
			if said, code := c.ipmitool(17, "power", "diag"); code == 0 || !strings.Contains(said, "not supported") {
				t.Errorf("diag of a container: exit code %d: %s", code, said)
			}
			secretNowhere(t, lab)
		})
	}
}

// TestPowerSteps: the dry run lists the ports, in the order of the nodes' names.
func TestPowerSteps(t *testing.T) {
	text, password := powerText(t, "netns", "127.77.8.1")
	steps := strings.Join(dryrun.Steps(labs.Plan(t, text)), "\n")
	for _, want := range []string{
		"tcp 127.77.8.1:8443 for Redfish, for 3 nodes", "udp 127.77.8.1:6001 for IPMI, for node dut", "udp 127.77.8.1:6002 for IPMI, for node far",
		"udp 127.77.8.1:6003 for IPMI, for node load", password,
	} {
		if !strings.Contains(steps, want) {
			t.Errorf("the steps do not have %q:\n%s", want, steps)
		}
	}
	other := strings.Replace(text, "ipmi, redfish", "redfish", 1)
	if changes := change.Compare(labs.Plan(t, text), labs.Plan(t, other)); !changes.Power || changes.Empty() {
		t.Errorf("another protocol changes %+v", changes)
	}
	if steps := strings.Join(dryrun.Steps(labs.Plan(t, other)), "\n"); strings.Contains(steps, "IPMI") {
		t.Error("IPMI is listened for without being asked for")
	}
}

// secretNowhere looks for the password where it must not be.
func secretNowhere(t *testing.T, lab *Lab) {
	t.Helper()
	id := ownProcesses(lab.State())[1]
	for _, path := range []string{fmt.Sprintf("/proc/%d/cmdline", id.PID), fmt.Sprintf("/proc/%d/environ", id.PID)} {
		text, err := os.ReadFile(path)
		if err != nil || len(text) == 0 || bytes.Contains(text, []byte(labs.PowerPassword)) {
			t.Errorf("%s has the password, or cannot be read: %v", path, err)
		}
	}
	seen := 0
	err := filepath.Walk(lab.State().Dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(labs.PowerPassword)) {
			t.Errorf("%s has the password", path)
		}
		seen++
		return err
	})
	if err != nil || seen < 5 {
		t.Errorf("of the lab's files %d were read, %v", seen, err)
	}
}

// TestWrongPasswordsOfClients: they are refused, and counted in the log.
func TestWrongPasswordsOfClients(t *testing.T) {
	labtest.Root(t)
	needClient(t, "ipmitool")
	needClient(t, "redfishtool")
	text, _ := powerText(t, "netns", "127.77.2.1")
	lab := up(t, text)
	pid := settled(t, lab, "dut", true)
	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte("wrong-horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := console{t: t, address: "127.77.2.1", password: wrong, port: 6001}
	if said, code := c.ipmitool(17, "power", "off"); code == 0 {
		t.Errorf("ipmitool with a wrong password: %s", said)
	}
	if said, code := c.call("redfishtool", "-r", c.address+":8443", "-u", "admin", "-p", "wrong-horse", "-S", "Always", "-A", "Basic", "Systems", "-I", "dut", "reset", "ForceOff"); code == 0 {
		t.Errorf("redfishtool with a wrong password: %s", said)
	}
	if now := settled(t, lab, "dut", true); now != pid {
		t.Errorf("pid 1 was %d and is %d", pid, now)
	}
	log, err := os.ReadFile(lab.State().PowerLog())
	if err != nil || !strings.Contains(string(log), "wrong user or password") || strings.Contains(string(log), "wrong-horse") {
		t.Errorf("the log says %s, %v", log, err)
	}
}

// TestPowerComesAndGoesWithTheFile: its process is a part of the lab that check knows, and that apply
// starts again, changes and ends.
func TestPowerComesAndGoesWithTheFile(t *testing.T) {
	labtest.Root(t)
	text, password := powerText(t, "netns", "127.77.3.1")
	lab := up(t, text)
	process := func() int {
		j, err := journal.Read(lab.State().Journal())
		if err != nil {
			t.Fatal(err)
		}
		if id := process.OfStep(j, bmc.IsProcess); id.PID != 0 && id.Alive() {
			return id.PID
		}
		return 0
	}
	apply := func(text string) change.Changes {
		t.Helper()
		changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		if len(changes.ReplacedNodes)+len(changes.RestartedNodes)+len(changes.ReplacedLinks) > 0 {
			t.Errorf("apply changed %+v", changes)
		}
		if bad := problems(t, lab); len(bad) > 0 {
			t.Error(bad)
		}
		return changes
	}
	if process() == 0 {
		t.Fatal("nothing answers for the nodes")
	}
	killProcess(t, ownProcesses(lab.State())[1])
	if bad := problems(t, lab); len(bad) != 1 || bad[0].Part != bmc.Part || !strings.Contains(bad[0].Problem, "has ended") {
		t.Errorf("a dead program is told as %v", bad)
	}
	if changes := apply(text); !changes.Power || process() == 0 {
		t.Errorf("apply changed %+v, and the process is %d", changes, process())
	}
	first := process()
	if changes := apply(text); !changes.Empty() || process() != first {
		t.Errorf("apply without a reason changed %+v", changes)
	}
	if apply(strings.Replace(text, "127.77.3.1", "127.77.3.2", 1)); process() == first || process() == 0 {
		t.Error("another address has the same process, or none")
	}
	without, _, _ := strings.Cut(text, "power:")
	if apply(without); process() != 0 {
		t.Error("a process without the section runs on")
	}
	if apply(text); process() == 0 {
		t.Error("nothing answers after apply has brought the section")
	}
	// A second lab at the same address is refused, before its process is there, and leaves nothing.
	second := strings.Replace(text, "name: tbpownetns", "name: tbpowother", 1)
	if _, err := Up(context.Background(), UpOptions{Plan: labs.Plan(t, second), Experiment: []byte(second)}); err == nil || !strings.Contains(err.Error(), "8443") || !strings.Contains(err.Error(), "redfish_port") {
		t.Errorf("a second lab at the same address: %v", err)
	}
	if _, err := os.Stat(state.Of("tbpowother").Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it left its folder: %v", err)
	}
	if err := os.Chmod(password, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Check(labs.Plan(t, text)); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a password that others may read: %v", err)
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := traces.Left(t, lab.Plan().Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
