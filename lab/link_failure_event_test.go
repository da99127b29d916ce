package lab

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// reaches is true if an answer to one of a node's pings comes.
func reaches(t *testing.T, lab *Lab, from int) bool {
	t.Helper()
	n := lab.Plan().Nodes[from]
	cmd, err := lab.Command(context.Background(), n.Name, []string{"ping", "-c2", "-i0.2", "-W1", n.Interfaces[0].Neighbours[0].IP}, running.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Run() == nil
}

// everyPingSoon waits until every node reaches its first neighbour.
func everyPingSoon(t *testing.T, lab *Lab) {
	t.Helper()
	for from := range lab.Plan().Nodes {
		for try := 0; !reaches(t, lab, from); try++ {
			if try == 20 {
				t.Fatalf("node %d reaches nobody", from)
			}
		}
	}
}

func cuts(t *testing.T, lab *Lab) (n int) {
	t.Helper()
	j, err := journal.Read(lab.State().Journal())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range j.Entries() {
		if e.Kind == link.KindCut {
			n++
		}
	}
	return n
}

// TestACutLinkPassesNothing takes links down and up; closing a cut does so, too, and an undo of the
// journal by another process, as after kill -9.
func TestACutLinkPassesNothing(t *testing.T) {
	for _, c := range []struct {
		kind  string
		nodes int
	}{{"bridge", 3}, {"xdp", 3}, {"switch", 3}, {"veth", 2}, {"macvlan", 3}} {
		t.Run(c.kind, func(t *testing.T) {
			labtest.Root(t)
			lab := up(t, labs.Star(c.kind, c.nodes, 1500))
			everyPingSoon(t, lab)
			before := map[string]string{}
			for _, n := range lab.Plan().Nodes {
				before[n.Name] = in(t, lab, n.Name, "sh", "-c", "ip -o addr; ip route; ip -6 route; ip neigh show nud permanent")
			}
			prepare := func() *Cut {
				cut, err := lab.PrepareCut(context.Background(), "lan")
				if err != nil {
					t.Fatal(err)
				}
				if n := cuts(t, lab); n != c.nodes {
					t.Errorf("the journal has %d ends of the cut, not %d", n, c.nodes)
				}
				if _, err := cut.Down(); err != nil {
					t.Fatal(err)
				}
				if reaches(t, lab, 0) {
					t.Error("packets pass a link that is down")
				}
				if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
					t.Errorf("a link that is down deliberately is told as %v, %v", faults, err)
				}
				return cut
			}
			cut := prepare()
			if _, err := cut.Up(); err != nil {
				t.Fatal(err)
			}
			everyPingSoon(t, lab)
			if err := cut.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			cut = prepare()
			if err := cut.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			everyPingSoon(t, lab)
			if n := cuts(t, lab); n != 0 {
				t.Errorf("the journal still has %d ends of a cut", n)
			}
			for name, was := range before {
				if is := in(t, lab, name, "sh", "-c", "ip -o addr; ip route; ip -6 route; ip neigh show nud permanent"); is != was {
					t.Errorf("the cuts changed node %s, which had\n%s\nand has\n%s", name, was, is)
				}
			}
			// Nobody closes this one.
			forgotten := prepare()
			if c := forgotten.switch_; c != nil {
				_ = c.Close() // as the end of the process does
			}
			err := lab.withJournal(func(j *journal.Journal) error {
				return j.Undo(context.Background(), nil, func(e journal.Entry) bool { return e.Kind == link.KindCut })
			})
			if err != nil {
				t.Fatal(err)
			}
			everyPingSoon(t, lab)
			if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
				t.Errorf("after all cuts: %v, %v", faults, err)
			}
			prepare() // down takes the lab with its cut
		})
	}
}

func TestALinkThatCannotBeCutSaysSo(t *testing.T) {
	lab := &Lab{Lab: running.New(state.Folder{}, &plan.Plan{Name: "tbnocut", Links: []plan.Link{
		{Name: "shared", Kind: spec.LinkMemif, Endpoints: []plan.Endpoint{{Node: "a", Interface: "x"}, {Node: "b", Interface: "x"}}},
		{Name: "inside", Kind: spec.LinkVeth, Endpoints: []plan.Endpoint{{Node: "a", Interface: "y"}, {Node: "vm", Interface: "y", Guest: true}}},
	}})}
	for name, want := range map[string]string{
		"shared": "a memif link cannot be taken down", "inside": "cannot reach vm:y in it", "wan": `no link "wan"`,
	} {
		if _, err := lab.PrepareCut(context.Background(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnotherXDPProgramAtAnEndStays: a cut neither replaces it nor takes it away, and says why the link
// cannot be taken down.
func TestAnotherXDPProgramAtAnEndStays(t *testing.T) {
	labtest.Root(t)
	lab := up(t, labs.Star("veth", 2, 1500))
	n := lab.Plan().Nodes[0]
	cut, err := lab.PrepareCut(context.Background(), "lan")
	if err != nil {
		t.Fatal(err)
	}
	ns, err := lab.Running(n.Name).Namespace()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "someone", Type: ebpf.XDP, License: "Apache-2.0", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2), asm.Return()}, // XDP_PASS
	})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	var id uint32
	err = ns.Do(func() error {
		device, err := netlink.LinkByName(n.Interfaces[0].Name)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetXdpFdWithFlags(device, program.FD(), unix.XDP_FLAGS_SKB_MODE); err != nil {
			return err
		}
		device, err = netlink.LinkByName(n.Interfaces[0].Name)
		if err == nil {
			id = device.Attrs().Xdp.ProgId
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cut.Down(); err == nil || !strings.Contains(err.Error(), "has an XDP program") {
		t.Errorf("a cut of an end with a program: %v", err)
	}
	if err := cut.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	err = ns.Do(func() error {
		device, err := netlink.LinkByName(n.Interfaces[0].Name)
		if err == nil && (id == 0 || device.Attrs().Xdp.ProgId != id) {
			t.Errorf("the program of someone else was %d and is %d", id, device.Attrs().Xdp.ProgId)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	everyPingSoon(t, lab)
}

// TestImpairedLinksCarryPackets pings over impaired links; what the switch counts is what the file
// asks for.
func TestImpairedLinksCarryPackets(t *testing.T) {
	for _, c := range []struct {
		kind       string
		nodes, mtu int
	}{{"switch", 2, 1500}, {"xdp", 2, 1500}, {"xdp", 3, 1500}, {"xdp", 2, 9000}} {
		t.Run(fmt.Sprintf("%s/%d/%d", c.kind, c.nodes, c.mtu), func(t *testing.T) {
			labtest.Root(t)
			text := strings.Replace(labs.Star(c.kind, c.nodes, c.mtu), "endpoints:", "impair: {delay: 20ms, duplicate: 1}, endpoints:", 1)
			lab := up(t, text)
			if !lab.Plan().Links[0].Impaired() {
				t.Fatal("the plan does not say that the link is impaired")
			}
			out := in(t, lab, "n1", "ping", "-c2", "-i0.2", "-W5", "-M", "do", "-s", fmt.Sprint(c.mtu-28), lab.Plan().Nodes[0].Interfaces[0].Neighbours[0].IP)
			if !strings.Contains(out, "duplicates") {
				t.Errorf("every packet is doubled, and ping says:\n%s", out)
			}
			var least float64
			if _, after, ok := strings.Cut(out, "min/avg/max/mdev = "); ok {
				_, _ = fmt.Sscanf(after, "%f", &least)
			}
			if least < 40 {
				t.Errorf("a round trip took %v ms, less than both delays of 20 ms:\n%s", least, out)
			}
			for _, port := range counted(t, lab).Counters.Ports {
				if port.Impair == nil || port.Impair.Duplicated != port.Impair.Packets-port.Impair.Lost-port.Impair.Refused {
					t.Errorf("port %s: %+v", port.Port, port.Impair)
				}
			}
			told := 0
			for _, s := range lab.Settings() {
				if strings.HasPrefix(s.Values["impaired"], "delay 20ms") {
					told++
				}
			}
			if told != c.nodes {
				t.Errorf("the settings of %d ends say that they are impaired, not of %d", told, c.nodes)
			}
		})
	}
}

// TestANetemThatIsMissingIsNamed: a kernel without netem refuses an impaired link of its own with
// the remedy, and leaves nothing behind.
func TestANetemThatIsMissingIsNamed(t *testing.T) {
	labtest.Root(t)
	text := strings.Replace(labs.Star("veth", 2, 1500), "endpoints:", "impair: {delay: 1ms}, endpoints:", 1)
	lab, err := Up(context.Background(), UpOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
	if err == nil {
		t.Cleanup(func() { _ = lab.Down(context.Background()) })
		for _, n := range lab.Plan().Nodes {
			if out := in(t, lab, n.Name, "ip", "link", "show", "eth"); !strings.Contains(out, "qdisc netem") {
				t.Errorf("node %s: %s", n.Name, out)
			}
		}
		return
	}
	if !strings.Contains(err.Error(), "netem") || !strings.Contains(err.Error(), "kind: xdp or switch") {
		t.Errorf("the error does not name netem and a remedy: %v", err)
	}
	if left := traces.Left(t, labs.Plan(t, text).Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}
