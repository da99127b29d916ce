package labs

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"nines.dev/nines/busypoll"
	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/login"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/vm"
)

// NeedLXC skips a test if the host cannot run containers of LXC.
func NeedLXC(t testing.TB) {
	t.Helper()
	labtest.Require(t, "lxc", labtest.Installed("lxc-start"))
}

// NeedSSHServer skips a test if nobody can log in to nodes.
func NeedSSHServer(t testing.TB) {
	t.Helper()
	labtest.Require(t, "openssh-client", labtest.Installed("ssh"))
	_, server := os.Stat(login.SSHDProgram)
	labtest.Require(t, "openssh-server", server == nil)
}

// NeedDnsmasq skips a test if the host has no server of names and addresses.
func NeedDnsmasq(t testing.TB) {
	t.Helper()
	labtest.Require(t, "dnsmasq-base", labtest.Installed("dnsmasq"))
}

// NeedQEMU is for tests that boot guests.
func NeedQEMU(t testing.TB) {
	t.Helper()
	labtest.Machine(t)
	labtest.Require(t, vm.Program+" (make setup-vm)", labtest.Installed(vm.Program))
	_, err := os.Stat("/dev/net/tun")
	labtest.Require(t, "/dev/net/tun", err == nil)
}

// NeedLinks skips a test if the host lacks what the plan's links need.
func NeedLinks(t testing.TB, p *plan.Plan) {
	t.Helper()
	err := link.Check(p)
	if err != nil && !errors.As(err, new(*exit.MissingError)) {
		t.Fatal(err)
	}
	labtest.Require(t, fmt.Sprint(err), err == nil)
}

// NeedOVS skips a test if the host cannot make a link of the kind.
func NeedOVS(t testing.TB, kind string) {
	t.Helper()
	labtest.Root(t)
	// Without hugepages: the test is about Open vSwitch, and others may have them.
	p, err := TryPlan(t, OVSStar(kind, 2, 1500), func(*host.Inventory) {})
	if err != nil {
		t.Fatal(err)
	}
	err = link.Check(p)
	if err != nil && !errors.As(err, new(*exit.MissingError)) {
		t.Fatal(err)
	}
	labtest.Require(t, fmt.Sprintf("%s (%v)", kind, err), err == nil)
}

// NeedReceive skips a test on a kernel without the receive mode.
func NeedReceive(t *testing.T, way spec.Receive) {
	t.Helper()
	features := busypoll.Probe()
	lack := map[spec.Receive]busypoll.Lack{spec.ReceiveThreaded: features.Threaded, spec.ReceiveSuspend: features.Suspend}[way]
	if way == spec.ReceiveBusyPoll {
		if _, _, err := busypoll.Choose(features, spec.PollAuto); err != nil {
			lack = busypoll.Lack(err.Error())
		}
	}
	labtest.Require(t, fmt.Sprintf("a kernel for rx: %s (%s)", way, lack), lack.None())
}
