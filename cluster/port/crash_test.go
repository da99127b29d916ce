package port

import (
	"context"
	"os"
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
		o.Port = Port{Name: "xdp-1", Tier: tier, Parent: "fast", AFXDP: true}
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

// TestAPortIsKilledAtEveryPoint kills the process at each kind of its steps, and in the long form at each step. The next takes the port, or gives
// it back, as if nothing had been.
func TestAPortIsKilledAtEveryPoint(t *testing.T) {
	labtest.Guarantee(t)
	program, known := labtest.NewKilledTest(t, "TestLifeOfAPort"), map[string]bool{}
	for tier, device := range map[spec.LinkKind]string{spec.LinkMacvlan: "net1 macvlan", spec.LinkXDP: "net1 veth", spec.LinkMemif: ""} {
		t.Run(string(tier), func(t *testing.T) {
			newMachine(t).killedAtEveryPoint(t, program, known, killedOrder(tier, ""), device)
		})
	}
	t.Run(string(spec.LinkOVN), func(t *testing.T) {
		n := newOverlayNode(t)
		t.Setenv(overlayVariable, n.folder)
		n.killedAtEveryPoint(t, program, known, killedOrder(spec.LinkOVN, n.folder), "net1 veth")
		n.noneLeft()
	})
}

// killedAtEveryPoint has a port killed that gives its pod a device; what has none is in a file system.
func (n *machine) killedAtEveryPoint(t *testing.T, program labtest.KilledTest, known map[string]bool, o Order, device string) {
	pod := namespace(t)
	killedAt := func(point int) bool {
		return program.At(point, nodeVariable+"="+path(n.ns), podVariable+"="+path(pod), folderVariable+"="+n.Folder, tierVariable+"="+string(o.Port.Tier))
	}
	points := labtest.PassedPoints(t, func() { killedAt(0) })
	n.empty()
	if len(points) < 10 {
		t.Fatalf("it passes few points: %q", points)
	}
	for _, at := range labtest.Kills(points, known) {
		point := points[at-1]
		for _, goOn := range []bool{true, false} {
			if !killedAt(at) {
				t.Fatalf("not killed at point %d, %s", at, point)
			}
			if goOn {
				n.take(o)
				n.attach(o, pod)
				if has := devices(t, pod); o.Port.HasInterface() && has != device {
					t.Errorf("killed at point %d, %s: the pod has %q", at, point, has)
				}
				if there, err := mounted(n.mapsFolder(o.Port), mapsType); o.Port.AFXDP && (!there || err != nil) {
					t.Errorf("killed at point %d, %s: there is no map: %v", at, point, err)
				}
				if there, err := mounted(n.SocketFolder(o.Port), memoryType); o.Port.IsShared() && (!there || err != nil) {
					t.Errorf("killed at point %d, %s: there is no file system: %v", at, point, err)
				}
			} else {
				n.do(func() error { return n.Sweep(context.Background()) })
			}
			n.giveBack("claim")
			if left := devices(t, pod); left != "" {
				t.Fatalf("killed at point %d, %s: the pod still has %s", at, point, left)
			}
			n.empty()
		}
	}
}
