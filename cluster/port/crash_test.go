package port

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// What the process that is killed is told.
const (
	nodeVariable   = "NINES_PORT_NODE"
	podVariable    = "NINES_PORT_POD"
	folderVariable = "NINES_PORT_FOLDER"
	tierVariable   = "NINES_PORT_TIER"
	// overlayVariable is the folder of OVN's databases.
	overlayVariable = "NINES_PORT_OVERLAY"
)

// killedOrder is the order of the port that is killed.
func killedOrder(tier spec.LinkKind, overlay string) Order {
	o := testOrder("claim", "m-1")
	switch tier {
	case spec.LinkMemif:
		o.Port, o.Interface, o.Mount = Port{Name: "memif-1", Tier: tier, Parent: MemoryParent}, "", "/run/x"
	case spec.LinkXDP:
		o.Port = Port{Name: "xdp-1", Tier: tier, Parent: "fast"}
	case spec.LinkOVN:
		o.Port = Port{Name: "ovn-1", Tier: tier, Parent: "lan", Socket: databaseIn(overlay), Northbound: northboundIn(overlay)}
	}
	return o
}

// TestLifeOfAPort is what TestAPortIsKilledAtEveryPoint has killed: a port from Take to GiveBack.
func TestLifeOfAPort(t *testing.T) {
	labtest.OtherTest(t, os.Getenv(nodeVariable) != "")
	ns, err := netns.Open(os.Getenv(nodeVariable))
	if err != nil {
		t.Fatal(err)
	}
	k, o := Keeper{Folder: os.Getenv(folderVariable)}, killedOrder(spec.LinkKind(os.Getenv(tierVariable)), os.Getenv(overlayVariable))
	err = ns.Do(func() error {
		_, err := k.Take(context.Background(), o)
		if err == nil {
			_, err = k.Attach(context.Background(), o.Holder, o.Port.Name, os.Getenv(podVariable))
		}
		if err == nil {
			err = k.GiveBack(context.Background(), o.Holder)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAPortIsKilledAtEveryPoint kills the process at each of its steps. The next takes the port, or gives
// it back, as if nothing had been.
func TestAPortIsKilledAtEveryPoint(t *testing.T) {
	labtest.LongForm(t)
	program := filepath.Join(t.TempDir(), "port.test")
	build := exec.Command("go", "test", "-c", "-tags", "faultpoint", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build it with fault points: %v: %s", err, out)
	}
	for tier, device := range map[spec.LinkKind]string{spec.LinkMacvlan: "net1 macvlan", spec.LinkXDP: "net1 veth", spec.LinkMemif: ""} {
		t.Run(string(tier), func(t *testing.T) {
			newMachine(t).killedAtEveryPoint(t, program, killedOrder(tier, ""), device)
		})
	}
	t.Run(string(spec.LinkOVN), func(t *testing.T) {
		n := newOverlayNode(t)
		t.Setenv(overlayVariable, n.folder)
		n.killedAtEveryPoint(t, program, killedOrder(spec.LinkOVN, n.folder), "net1 veth")
		n.noneLeft()
	})
}

// killedAtEveryPoint has a port killed that gives its pod a device; what has none is in a file system.
func (n *machine) killedAtEveryPoint(t *testing.T, program string, o Order, device string) {
	pod := namespace(t)
	list := filepath.Join(t.TempDir(), "points")
	run := func(variables ...string) (killed bool) {
		command := exec.Command(program, "-test.run", "^TestLifeOfAPort$")
		command.Env = append(append(os.Environ(), nodeVariable+"="+path(n.ns), podVariable+"="+path(pod), folderVariable+"="+n.Folder, tierVariable+"="+string(o.Port.Tier)), variables...)
		out, err := command.CombinedOutput()
		if ended := new(exec.ExitError); errors.As(err, &ended) && ended.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
			return true
		}
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return false
	}
	run("NINES_FAULT_LIST=" + list)
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	n.empty()
	points := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(points) < 10 {
		t.Fatalf("it passes few points: %q", points)
	}
	for i, point := range points {
		for _, goOn := range []bool{true, false} {
			if !run(fmt.Sprint("NINES_FAULT_AT=", i+1)) {
				t.Fatalf("not killed at point %d, %s", i+1, point)
			}
			if goOn {
				n.take(o)
				n.attach(o, pod)
				if has := devices(t, pod); o.Port.HasInterface() && has != device {
					t.Errorf("killed at point %d, %s: the pod has %q", i+1, point, has)
				}
				if there, err := memoryAt(n.SocketFolder(o.Port)); o.Port.IsShared() && (!there || err != nil) {
					t.Errorf("killed at point %d, %s: there is no file system: %v", i+1, point, err)
				}
			} else {
				n.do(func() error { return n.Sweep(context.Background()) })
			}
			n.giveBack("claim")
			if left := devices(t, pod); left != "" {
				t.Fatalf("killed at point %d, %s: the pod still has %s", i+1, point, left)
			}
			n.empty()
		}
	}
}
