package lab

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/change"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// a and b on a bridge, and two links between them that have no names
const keptLab = `
name: tbkept
topology:
  nodes:
    a: {}
    b: {}
  links:
    - {name: lan, kind: bridge, endpoints: ["a:lan", "b:lan"]}
    - {endpoints: ["a:x", "b:x"]}
    - {endpoints: ["a:y", "b:y"]}
`

// applied changes a lab to another file, and says what that was announced to be.
func applied(t *testing.T, lab *Lab, text string) (announced change.Changes) {
	t.Helper()
	announce := func(c change.Changes) error {
		announced = c
		return nil
	}
	done, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Change(t, lab.Plan(), text), Experiment: []byte(text), Announce: announce})
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Differences) != len(announced.Differences) || len(done.Reconfigured) != len(announced.Reconfigured) {
		t.Errorf("announced were %+v, and done is %+v", announced, done)
	}
	return announced
}

// session is a TCP connection between two nodes.
type session struct {
	t           *testing.T
	there, here net.Conn
}

// newSession connects from a node to an address of another.
func newSession(t *testing.T, lab *Lab, from, to, address string) session {
	t.Helper()
	s := session{t: t}
	var listener net.Listener
	inside := func(node string, do func() error) {
		ns, err := netns.OfProcess(lab.PID(node))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = ns.Close() }()
		if err := ns.Do(do); err != nil {
			t.Fatal(err)
		}
	}
	inside(to, func() (err error) {
		listener, err = net.Listen("tcp", address+":7000")
		return err
	})
	inside(from, func() (err error) {
		s.here, err = net.Dial("tcp", address+":7000")
		return err
	})
	var err error
	if s.there, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	for _, one := range []io.Closer{listener, s.here, s.there} {
		t.Cleanup(func() { _ = one.Close() })
	}
	return s
}

// carries says a line from each end to the other.
func (s session) carries(line string) {
	s.t.Helper()
	for _, way := range [][2]net.Conn{{s.here, s.there}, {s.there, s.here}} {
		if _, err := io.WriteString(way[0], line); err != nil {
			s.t.Fatal(err)
		}
		got := make([]byte, len(line))
		if _, err := io.ReadFull(way[1], got); err != nil || string(got) != line {
			s.t.Fatalf("the connection says %q, %v, and not %q", got, err, line)
		}
	}
}

// device is what a node's interface is: its index in the kernel, its MAC address and its addresses without their
// prefix lengths.
func device(t *testing.T, lab *Lab, node, name string) string {
	t.Helper()
	text := in(t, lab, node, "sh", "-c", "cat /sys/class/net/"+name+"/ifindex /sys/class/net/"+name+"/address; ip -o address show "+name+" | sed 's,.* inet ,,; s,/.*,,'")
	return strings.Join(strings.Fields(text), " ")
}

// TestApplyKeepsConnections: two nodes join a bridge, whose subnet has no room for them.
func TestApplyKeepsConnections(t *testing.T) {
	labtest.Root(t)
	lab := up(t, keptLab)
	before := device(t, lab, "a", "lan")
	tcp := newSession(t, lab, "a", "b", lab.Plan().Node("a").Interfaces[0].Neighbours[0].IP)
	tcp.carries("before")
	text := strings.NewReplacer("    a: {}\n", "    a: {}\n    aa: {}\n    c: {}\n", `["a:lan", "b:lan"]`, `["c:lan", "a:lan", "aa:lan", "b:lan"]`).Replace(keptLab)
	changes := applied(t, lab, text)
	tcp.carries("after")
	if now := device(t, lab, "a", "lan"); now != before {
		t.Errorf("a:lan was %s and is %s", before, now)
	}
	if !slices.ContainsFunc(changes.Differences, func(d change.Difference) bool {
		return d.Of == "a:lan" && d.Key == "addresses" && strings.HasSuffix(d.Old, "/30") && strings.HasSuffix(d.New, "/29")
	}) {
		t.Errorf("the prefix of a is not announced: %+v", changes.Differences)
	}
	for _, n := range lab.Plan().Nodes {
		for _, i := range n.Interfaces {
			for _, neighbour := range i.Neighbours {
				in(t, lab, n.Name, "ping", "-c1", "-W2", neighbour.IP)
			}
		}
	}
	applied(t, lab, keptLab)
	tcp.carries("and without them")
}

// TestApplyGoesByNames: another order is no change, and of links without names the others stay when the first is gone.
func TestApplyGoesByNames(t *testing.T) {
	labtest.Root(t)
	lab := up(t, keptLab)
	before := []string{device(t, lab, "a", "lan"), device(t, lab, "a", "y"), device(t, lab, "b", "y")}
	reordered := strings.NewReplacer(`["a:lan", "b:lan"]`, `["b:lan", "a:lan"]`, `["a:x", "b:x"]`, `["b:x", "a:x"]`).Replace(keptLab)
	if changes := applied(t, lab, reordered); !changes.Empty() || len(changes.Differences) > 0 {
		t.Errorf("in another order, the changes are %+v", changes)
	}
	without := strings.Replace(keptLab, `    - {endpoints: ["a:x", "b:x"]}`+"\n", "", 1)
	changes := applied(t, lab, without)
	if !slices.Equal(changes.RemovedLinks, []string{"link2"}) || len(changes.ReplacedLinks)+len(changes.AddedLinks)+len(changes.Reconfigured) > 0 {
		t.Errorf("without the first, the changes are %+v", changes)
	}
	if now := []string{device(t, lab, "a", "lan"), device(t, lab, "a", "y"), device(t, lab, "b", "y")}; !slices.Equal(now, before) {
		t.Errorf("%q are now %q", before, now)
	}
}

// TestApplyMovesWhatSharesCPUs: a new node gets one for itself, so what runs in the others moves off it.
func TestApplyMovesWhatSharesCPUs(t *testing.T) {
	labtest.Root(t)
	lab := up(t, keptLab)
	housekeeping := lab.Plan().HousekeepingCPUs
	labtest.Require(t, "two CPUs", len(housekeeping) >= 2)
	node := lab.PID("a")
	sleep, err := lab.Command(context.Background(), "a", []string{"sleep", "1043210"}, running.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait()
	})
	own := strings.Replace(keptLab, "    b: {}\n", "    b: {}\n    c: {cpus: 1}\n", 1)
	for _, text := range []string{own, keptLab} {
		changes := applied(t, lab, text)
		if !slices.Equal(changes.Moved, []string{"a", "b"}) || len(changes.FreshNodes) > 0 || lab.PID("a") != node {
			t.Errorf("the changes are %+v", changes)
		}
		// Nothing but the command in the node was started on some CPUs only.
		found := in(t, lab, "a", "sh", "-c", "grep -h Cpus_allowed_list /proc/$(pgrep -x -f 'sleep 1043210')/status")
		if want := cpulist.Format(lab.Plan().Node("a").CPUs); !strings.HasSuffix(found, "\t"+want) {
			t.Errorf("what runs in a may use %s, want %s", found, want)
		}
	}
}

// TestApplySaysWhatItDoesNotReach: what has run when a node started is not run again.
func TestApplySaysWhatItDoesNotReach(t *testing.T) {
	labtest.Root(t)
	lab := up(t, keptLab)
	changes := applied(t, lab, strings.Replace(keptLab, "a: {}", `a: {exec: [["true"]]}`, 1))
	if !changes.Empty() || len(changes.Unreached) != 1 || !strings.HasPrefix(changes.Unreached[0], "a: its exec list") {
		t.Errorf("the changes are %+v", changes)
	}
}
