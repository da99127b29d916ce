package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/capture"
	"nines.dev/nines/lab/engine"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// drive runs f with an engine in the lab's generator node, with its port open.
func drive(t testing.TB, lab *Lab, f func(*client.Client)) {
	t.Helper()
	traffic := lab.Plan().Traffic
	program, err := lab.EnginePath(traffic.From.Node)
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := lab.Command(context.Background(), traffic.From.Node, []string{program}, running.ExecOptions{Engine: true})
	if err != nil {
		t.Fatal(err)
	}
	running := labtest.RunEngine(t, cmd)
	defer running.End(t) // before the lab ends
	c := running.Client
	if _, err := engine.StartDPDK(context.Background(), lab.Lab, c, traffic.From.Node, traffic.FromCPU); err != nil {
		t.Fatal(err)
	}
	from := traffic.From
	port := client.Port{
		Name: "tx", Backend: string(traffic.Stream.Backend), Interface: from.Interface,
		IO: string(traffic.Stream.IO), Wait: string(traffic.Stream.Wait),
		LocalMAC: from.LocalMAC, LocalIP: from.LocalIP, PeerMAC: from.PeerMAC, PeerIP: from.PeerIP,
		UDPPort: from.UDPPort, FrameBytes: traffic.Stream.FrameBytes,
	}
	if err := engine.UseDevice(lab.Lab, &port, from.Node); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(port); err != nil {
		t.Fatal(err)
	}
	if err := lab.AwaitGuests(context.Background()); err != nil {
		t.Fatal(err)
	}
	f(c)
}

// echo is a trial of half a second in which nothing may be lost, after a second for connections to
// be set up.
func echo(t testing.TB, lab *Lab) {
	t.Helper()
	echoWithin(t, lab, 1)
}

// echoWithin is echo for a link that loses packets when it does not get its CPU for a while: one of
// some trials must be without loss.
func echoWithin(t testing.TB, lab *Lab, trials int) {
	t.Helper()
	drive(t, lab, func(c *client.Client) {
		lost := []string{}
		// On a busy host the engine may not get its CPU during the whole short trial.
		for range 5 {
			result, err := c.Trial(client.Trial{
				Role: "loop", CPU: lab.Plan().Traffic.FromCPU, Streams: []client.Stream{{Tx: "tx", Rx: "tx", RatePPS: 500, Burst: 1}},
				WarmupNs: int64(time.Second), DurationNs: int64(500 * time.Millisecond), DrainNs: int64(5 * time.Second),
			}, client.Events{})
			switch {
			case err != nil:
				t.Fatal(err)
			case result.TxPackets == 0:
			case result.RxPackets == result.TxPackets:
				return
			default:
				lost = append(lost, fmt.Sprintf("sent %d, and %d came back", result.TxPackets, result.RxPackets))
			}
			if len(lost) == trials {
				t.Error(strings.Join(lost, "; "))
				return
			}
		}
		t.Error("nothing was sent", lost)
	})
}

// TestLabsPastTheKernelCarryPackets has a generator and a reflector on every kind of
// link for DPDK, in namespaces and in a container, and with one end in the kernel.
func TestLabsPastTheKernelCarryPackets(t *testing.T) {
	for _, test := range []struct{ kind, runtime, from, app string }{
		{"memif", "netns", "dpdk", "dpdk"}, {"memif", "lxc", "dpdk", "dpdk"},
		{"switch", "netns", "dpdk", "dpdk"}, {"switch", "lxc", "dpdk", "dpdk"},
		{"switch", "netns", "raw", "dpdk"}, {"switch", "lxc", "dpdk", "raw"},
		{"testpmd", "netns", "dpdk", "dpdk"}, {"testpmd", "lxc", "dpdk", "dpdk"},
		{"testpmd", "netns", "raw", "dpdk"},
		{"veth", "lxc", "dpdk", "dpdk"},
	} {
		t.Run(strings.Join([]string{test.kind, test.runtime, test.from, test.app}, "/"), func(t *testing.T) {
			labtest.Root(t)
			if test.runtime == "lxc" {
				labs.NeedLXC(t)
			}
			text := labs.Echo(test.kind, test.runtime, test.from, test.app)
			labs.NeedLinks(t, labs.Plan(t, text))
			lab := up(t, text)
			echo(t, lab)
			if test.runtime == "lxc" && test.kind == "switch" && test.app == "dpdk" {
				if got := in(t, lab, "b", "ls", "/nines/sockets"); got != "l1.1" {
					t.Errorf("the container sees the sockets %q", got)
				}
			}
			if test.runtime == "netns" {
				echo(t, lab) // a second engine finds the same sockets
			}
			if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
				t.Errorf("faults: %v, %v", faults, err)
			}
			if err := lab.Down(context.Background()); err != nil {
				t.Fatal(err)
			}
			if left := traces.Left(t, lab.Plan().Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestTheSwitchJoinsTheKernel(t *testing.T) {
	for _, nodes := range []int{2, 3} {
		labtest.Root(t)
		lab := up(t, labs.Star("switch", nodes, 1500))
		for _, n := range lab.Plan().Nodes {
			for _, neighbour := range n.Interfaces[0].Neighbours {
				in(t, lab, n.Name, "ping", "-c1", "-W5", "-M", "do", "-s", "1472", neighbour.IP)
			}
		}
		l := counted(t, lab)
		if len(l.Counters.Ports) != nodes || len(l.Programs) != 1 || !l.Programs[0].Alive {
			t.Fatalf("inspect shows %+v", l)
		}
		for _, p := range l.Counters.Ports {
			if p.RxPackets == 0 || p.TxPackets == 0 {
				t.Errorf("port %s received %d and sent %d", p.Port, p.RxPackets, p.TxPackets)
			}
		}
		if err := lab.Down(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// counted is the state of the lab's only link, with the counters of its switch: inspect gives up half a second after
// it asked, and on a busy host the switch has no CPU for as long.
func counted(t *testing.T, lab *Lab) (l LinkState) {
	t.Helper()
	labtest.Eventually(t, "the switch tells its counters", func() bool {
		seen, err := lab.Inspect(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		l = seen.LinkList[0]
		return l.Counters != nil
	})
	return l
}

// kill kills a process and waits for its end.
func kill(t testing.TB, pid int) {
	t.Helper()
	id, err := proc.Of(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := id.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for id.Alive() {
		time.Sleep(time.Millisecond)
	}
}

// TestADeadSwitchIsToldAndMadeAnew kills a link's program: the lab reports it, the next apply
// rebuilds the link, and down removes everything as usual.
func TestADeadSwitchIsToldAndMadeAnew(t *testing.T) {
	for _, kind := range []string{"switch", "testpmd", "snabb", "vpp"} {
		t.Run(kind, func(t *testing.T) {
			labtest.Root(t)
			text := labs.Echo(kind, "netns", "dpdk", "dpdk")
			if labs.RealPrograms[kind] != nil {
				labs.NeedRealSwitch(t, kind)
				text = labs.RealSwitch(kind, "netns", "dpdk", "dpdk", 64)
			}
			labs.NeedLinks(t, labs.Plan(t, text))
			lab := up(t, text)
			programs, err := lab.Programs()
			if err != nil || len(programs) != 1 {
				t.Fatalf("programs: %+v, %v", programs, err)
			}
			kill(t, programs[0].PID)
			faults, err := lab.Faults()
			if err != nil || len(faults) != 1 || !strings.Contains(faults[0].Problem, "of link l1 has died") {
				t.Fatalf("faults: %q, %v", faults, err)
			}
			silent := slices.Contains([]string{"nines-engine", "vpp"}, programs[0].Name)
			known := strings.Contains(faults[0].Problem, "ended by SIGKILL") // until someone reaps it
			if refers := strings.Contains(faults[0].Problem, "dmesg"); refers != (silent && !known) {
				t.Errorf("what it ended by: %q", faults[0])
			}
			if labs, err := List(); err != nil || len(labs) != 1 || len(labs[0].Faults) != 1 {
				t.Errorf("the list is %+v, %v", labs, err)
			}
			changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
			if err != nil || len(changes.ReplacedLinks) != 1 || len(changes.ReplacedNodes) != 0 {
				t.Fatalf("apply changed %+v, %v", changes, err)
			}
			echo(t, lab)
		})
	}
}

// TestASwitchThatIsEndedSaysBy: a switch that is terminated says so in its log.
func TestASwitchThatIsEndedSaysBy(t *testing.T) {
	labtest.Root(t)
	lab := up(t, labs.Echo("switch", "netns", "raw", "raw"))
	programs, err := lab.Programs()
	if err != nil || len(programs) != 1 {
		t.Fatalf("programs: %+v, %v", programs, err)
	}
	if err := unix.Kill(programs[0].PID, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		faults, err := lab.Faults()
		if err != nil {
			t.Fatal(err)
		}
		if len(faults) == 1 && strings.Contains(faults[0].Problem, "its last output was: nines-engine: ended by SIGTERM") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("faults: %q", faults)
		}
	}
}

// TestAnEngineThatDiesInTrafficLeavesNothing kills the reflector's engine while the
// generator sends.
func TestAnEngineThatDiesInTrafficLeavesNothing(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Root(t)
	text := labs.Echo("switch", "netns", "dpdk", "dpdk")
	lab := up(t, text)
	c, err := client.Dial(context.Background(), lab.EngineSocket("b"))
	if err != nil {
		t.Fatal(err)
	}
	hello, err := c.Hello()
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	drive(t, lab, func(c *client.Client) {
		result, err := c.Trial(client.Trial{
			Role: "loop", CPU: lab.Plan().Traffic.FromCPU, Streams: []client.Stream{{Tx: "tx", Rx: "tx", RatePPS: 500, Burst: 1}},
			WarmupNs: int64(time.Second), DurationNs: int64(6 * time.Second), DrainNs: int64(100 * time.Millisecond),
		}, client.Events{Progress: func(p client.Progress) {
			if p.Second == 1 {
				// The pid is in the engine's own namespace.
				in(t, lab, "b", "kill", "-9", fmt.Sprint(hello.PID))
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if result.TxPackets == 0 || result.RxPackets >= result.TxPackets {
			t.Errorf("sent %d, and %d came back from an engine that was killed", result.TxPackets, result.RxPackets)
		}
	})
	if programs, err := lab.Programs(); err != nil || !programs[0].Alive {
		t.Errorf("the switch went with its guest: %+v, %v", programs, err)
	}
	faults, err := lab.Faults()
	if err != nil || len(faults) != 1 || !strings.HasPrefix(faults[0].Problem, "the engine of node b has died") {
		t.Errorf("faults: %q, %v", faults, err)
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := traces.Left(t, lab.Plan().Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestPortsJoinAndLeaveARunningSwitch removes the first node and adds another, while the rest of
// the switch keeps running.
func TestPortsJoinAndLeaveARunningSwitch(t *testing.T) {
	labtest.Root(t)
	text := strings.Replace(labs.Echo("switch", "netns", "dpdk", "dpdk"), `endpoints: ["a:x"`, `endpoints: ["first:z", "a:x"`, 1)
	text = strings.Replace(text, "  nodes:\n", "  nodes:\n    first: {runtime: netns}\n", 1)
	lab := up(t, text)
	programs, err := lab.Programs()
	if err != nil {
		t.Fatal(err)
	}
	before := map[string]int{"switch": programs[0].PID, "a": lab.PID("a"), "b": lab.PID("b")}
	text = strings.NewReplacer(`["first:z", "a:x", "b:y"]`, `["a:x", "b:y", "last:z"]`, "first: {", "last: {").Replace(text)
	changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(changes.RemovedEndpoints, changes.AddedEndpoints, changes.ReplacedLinks); got != "[first:z] [last:z] []" {
		t.Errorf("apply changed %+v", changes)
	}
	programs, err = lab.Programs()
	if err != nil {
		t.Fatal(err)
	}
	if now := map[string]int{"switch": programs[0].PID, "a": lab.PID("a"), "b": lab.PID("b")}; fmt.Sprint(now) != fmt.Sprint(before) {
		t.Errorf("processes were %v and are %v", before, now)
	}
	echo(t, lab)
	var ports []string
	for _, p := range counted(t, lab).Counters.Ports {
		ports = append(ports, p.Port)
	}
	if got := strings.Join(ports, " "); !strings.Contains(got, "last:z") || strings.Contains(got, "first:z") {
		t.Errorf("the switch has the ports %s", got)
	}
	// Applying the same file again changes nothing, though the sockets have other numbers.
	again, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
	if err != nil || !again.Empty() {
		t.Errorf("once more: %+v, %v", again, err)
	}
}

func TestALabPastTheKernelIsRefusedBesideItsTwin(t *testing.T) {
	labtest.Root(t)
	lab := up(t, labs.Echo("switch", "netns", "dpdk", "dpdk"))
	text := strings.Replace(labs.Echo("switch", "netns", "dpdk", "dpdk"), "name: tbbypass", "name: tbtwin\nprefix: "+lab.Plan().Prefix, 1)
	if err := upError(t, text); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), `so does lab "tbbypass"`) {
		t.Errorf("got %v", err)
	}
	echo(t, lab)
}

func TestASocketWithTooLongAPathIsRefusedAtOnce(t *testing.T) {
	labtest.Root(t)
	t.Setenv("NINES_STATE_DIR", os.Getenv("NINES_STATE_DIR")+"/"+strings.Repeat("d", 80))
	if err := upError(t, labs.Echo("switch", "netns", "dpdk", "dpdk")); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "NINES_STATE_DIR") {
		t.Errorf("got %v", err)
	}
}

func TestACaptureWhereTheKernelSeesNothing(t *testing.T) {
	labtest.Root(t)
	lab := up(t, labs.Echo("switch", "netns", "dpdk", "dpdk"))
	_, err := capture.Open(lab.Lab, capture.Point{Node: "a", Interface: "x"})
	if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "nines switch mirror") {
		t.Errorf("got %v", err)
	}
}

// reserving is a lab that reserves hugepages for an engine that never starts: that many more than
// the host has in total.
func reserving(t testing.TB, name string, more int) *plan.Plan {
	t.Helper()
	labtest.Hugepages(t)
	text := fmt.Sprintf(`name: %s
dpdk: {hugepages: reserve}
topology: {nodes: {a: {runtime: netns}}, links: [{name: m, kind: memif, endpoints: ["a:x", "a:y"]}]}
traffic: {from: "a:x", to: "a:y", backend: dpdk, wait: spin, rate_pps: 1}
`, name)
	p := labs.Plan(t, text)
	if p.Hugepages == nil || p.Hugepages.Mode != spec.HugepagesReserve || len(p.Hugepages.Demands) != 1 {
		t.Fatalf("hugepages: %+v", p.Hugepages)
	}
	demand := &p.Hugepages.Demands[0]
	counts, err := traces.PoolOf(p).Read()
	if err != nil {
		t.Fatal(err)
	}
	demand.Pages = counts.Reserved + more
	return p
}

// addedPages is how many pages were added for labs whose state is in one of the folders.
func addedPages(t testing.TB, folders ...string) int {
	t.Helper()
	sum := 0
	for _, c := range traces.HugepageClaims(t) {
		if slices.ContainsFunc(folders, c.IsBelow) {
			sum += c.Added
		}
	}
	return sum
}

// TestHugepagesAreReservedAndGivenBack has two labs at once, in one state folder or in two; the
// first lab ends first. Other processes decide how many pages are free, and so how many are
// missing.
func TestHugepagesAreReservedAndGivenBack(t *testing.T) {
	labtest.Root(t)
	t.Run("one state folder", func(t *testing.T) { reserveTwice(t, os.Getenv("NINES_STATE_DIR")) })
	t.Run("two state folders", func(t *testing.T) { reserveTwice(t, t.TempDir()) })
}

// reserveTwice has the second lab's state.Folder in a folder.
func reserveTwice(t *testing.T, secondFolder string) {
	one, two := reserving(t, "tbhugea", 10), reserving(t, "tbhugeb", 30)
	firstFolder, before := os.Getenv("NINES_STATE_DIR"), traces.ForeignPages(t, one)
	check := func(when string, least int) {
		t.Helper()
		if got, added := traces.ForeignPages(t, one), addedPages(t, firstFolder, secondFolder); got != before || added < least {
			t.Errorf("%s %d pages are reserved besides those that labs added; %d were before, and %d were added for these labs, where at least %d are missing", when, got, before, added, least)
		}
	}
	bring := func(p *plan.Plan, folder string) (down func()) {
		t.Helper()
		t.Setenv("NINES_STATE_DIR", folder)
		lab, err := Up(context.Background(), UpOptions{Plan: p})
		if err != nil {
			t.Fatal(err)
		}
		return sync.OnceFunc(func() {
			t.Setenv("NINES_STATE_DIR", folder)
			if err := lab.Down(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	endFirst := bring(one, firstFolder)
	defer endFirst()
	check("with a lab", 10)
	endSecond := bring(two, secondFolder)
	defer endSecond()
	// The first lab has not used its pages yet, so the second must leave it as many.
	check("with two", 10+two.Hugepages.Demands[0].Pages)
	endFirst()
	check("without the first", 30)
	endSecond()
	check("without both", 0)
	if left := addedPages(t, firstFolder, secondFolder); left != 0 {
		t.Errorf("%d pages are still accounted for", left)
	}
}

// TestHugepagesBesideAnotherLab: pages that another lab of this host has reserved stay, and do not
// count as a leak.
func TestHugepagesBesideAnotherLab(t *testing.T) {
	labtest.Root(t)
	ours := os.Getenv("NINES_STATE_DIR")
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	other, err := Up(context.Background(), UpOptions{Plan: reserving(t, "tbhugeo", 5)})
	if err != nil {
		t.Fatal(err)
	}
	theirs := state.Root()
	if left := traces.Left(t, other.Plan().Prefix, theirs); !strings.Contains(strings.Join(left, " "), "claim of hugepages") {
		t.Errorf("no claim is seen in %v", left)
	}
	t.Setenv("NINES_STATE_DIR", ours)
	t.Run("reserve beside it", func(t *testing.T) { reserveTwice(t, ours) })
	if left := traces.Left(t, labs.Plan(t, labs.Pair("tbhugea", "")).Prefix, ours); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if added := addedPages(t, theirs); added < 5 {
		t.Errorf("%d pages of the other lab are left, which wants 5 more than there were", added)
	}
	t.Setenv("NINES_STATE_DIR", theirs)
	if err := other.Down(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestMoreHugepagesThanThereIsMemory(t *testing.T) {
	labtest.Root(t)
	p := reserving(t, "tbhuge", 1<<30)
	before := traces.ForeignPages(t, p)
	_, err := Up(context.Background(), UpOptions{Plan: p})
	if !errors.As(err, new(*exit.MissingError)) || !strings.Contains(err.Error(), "hugepages") {
		t.Errorf("got %v", err)
	}
	if got := traces.ForeignPages(t, p); got != before {
		t.Errorf("%d pages are reserved besides those that labs added, and were %d", got, before)
	}
	if left := traces.Left(t, p.Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
