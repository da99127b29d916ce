package peer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/cluster/port"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// The two nodes of TestARoundTripBetweenTwoNodes:
//
//	n1: the meter, 198.18.7.1 ── veth ── 198.18.7.2, the server: n2
//	    red ══════════════════ VXLAN ══════════════════ red
const (
	agentPort = 9753
	echoPort  = 9754
	// partVariable tells a process of this test which node it is.
	partVariable = "NINES_TEST_PEER"
)

var two = []Peer{
	{Node: "n1", Address: netip.MustParseAddr("198.18.7.1")},
	{Node: "n2", Address: netip.MustParseAddr("198.18.7.2")},
}

func TestARoundTripBetweenTwoNodes(t *testing.T) {
	labtest.Root(t)
	path := labtest.EnginePath(t)
	meter, server := startPart(t, "n1", path), startPart(t, "n2", path)
	join(t, meter, server)
	if said := server.say(t); said != "serving" {
		t.Fatalf("n2 said %q", said)
	}
	said := meter.say(t)
	var got struct {
		Trial measure.Trial
		Count uint64
		Timed uint64 // of these, by the block of time
		Least int64
		Again string
		// Over are the trials over the networks of pods, Absent what is said of one that the peer has not.
		Over   []over
		Absent string
		// Left are the ports that both ends still have then.
		Left int
	}
	if err := json.Unmarshal([]byte(said), &got); err != nil {
		t.Fatalf("n1 said %q: %v", said, err)
	}
	if got.Trial.Tier != measure.NodeNetwork || got.Trial.Peer != "n2" || got.Trial.Verdict == result.Invalid {
		t.Errorf("%+v", got)
	}
	// All came back, as a veth pair loses nothing at this rate; each took the time of two ways.
	if got.Count != 200 || got.Timed != 200 || got.Least < 1000 {
		t.Errorf("%d packets, %d by time, of which the fastest took %d ns", got.Count, got.Timed, got.Least)
	}
	if got.Again != "" {
		t.Errorf("the echo was not given back: %s", got.Again)
	}
	var tiers []string
	for _, o := range got.Over {
		tiers = append(tiers, o.Trial.Tier)
		if o.Trial.Peer != "n2" || o.Passed == 0 { // how many in time, a busy host decides
			t.Errorf("%d packets passed: %+v", o.Passed, o.Trial)
		}
	}
	if !slices.Equal(tiers, []string{"macvlan", "vxlan"}) {
		t.Errorf("measured over %q", tiers)
	}
	if got.Absent != "node n2 has no ports of macvlan on other" || got.Left != 0 {
		t.Errorf("of a network that the peer has not: %q; ports left: %d", got.Absent, got.Left)
	}
}

// over is a trial over a network of pods, and how many of its packets came back in time.
type over struct {
	Trial  measure.Trial
	Passed uint64
}

// probesOf makes ports on the card and the tunnel of a node, and on another parent that only n1 has.
func probesOf(t *testing.T, node string) *Probes {
	return &Probes{Node: node, Keeper: port.Keeper{Folder: t.TempDir(), Note: func(text string) { fmt.Fprintln(os.Stderr, text) }},
		Ports: func() ([]port.Port, error) {
			ports := []port.Port{
				{Name: "macvlan-eth0-1", Tier: spec.LinkMacvlan, Parent: "eth0"},
				{Name: "vxlan-red-1", Tier: spec.LinkVXLAN, Parent: "red"},
			}
			if node == "n1" {
				ports = append(ports, port.Port{Name: "macvlan-other-1", Tier: spec.LinkMacvlan, Parent: "other"})
			}
			return ports, nil
		}}
}

// TestPart is one of the two nodes, in a process of its own.
func TestPart(t *testing.T) {
	labtest.OtherTest(t, os.Getenv(partVariable) != "")
	input := bufio.NewReader(os.Stdin)
	path, err := input.ReadString('\n') // the network is there
	if err != nil {
		t.Fatal(err)
	}
	path = strings.TrimSpace(path)
	if os.Getenv(partVariable) == "n2" {
		server := &Server{
			Node: "n2", Probes: probesOf(t, "n2"), Engine: path, Port: echoPort, Slot: measure.NewSlot(), Answered: func(string) {},
			Agents: &Directory{Find: func(context.Context) ([]Peer, error) { return two, nil }},
			Watch:  func(context.Context) func() bool { return func() bool { return false } },
			Fit: func(ctx context.Context, _ string, _ measure.Load) (context.Context, func(), error) {
				return ctx, func() {}, nil
			},
		}
		listener, err := net.Listen("tcp", netip.AddrPortFrom(two[1].Address, agentPort).String())
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		mux.Handle(Path, server)
		go func() { _ = http.Serve(listener, mux) }()
		fmt.Println("serving")
		_, _ = io.Copy(io.Discard, input) // until the test ends
		server.Close()
		return
	}
	meter := Meter{Engine: path, AgentPort: agentPort, Probes: probesOf(t, "n1")}
	load := measure.Load{RatePPS: 200, FrameBytes: 64, Duration: time.Second}
	var trial measure.Trial
	for range 10 { // a busy host may give the engine no CPU for most of a second
		if trial, err = meter.Measure(context.Background(), two[1], nil, load); err != nil {
			t.Fatal(err)
		}
		if trial.Verdict != result.Invalid {
			break
		}
	}
	said := map[string]any{"Count": trial.Latency.Count(), "Timed": trial.Blocks.Total(), "Least": trial.Latency.Ranked(1), "Again": ""}
	// The peer is free again at once.
	if _, err := meter.Measure(context.Background(), two[1], nil, load); err != nil {
		said["Again"] = err.Error()
	}
	trial.Latency = nil
	said["Trial"] = trial
	networks, err := meter.Probes.Networks(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var passed []over
	for i := range networks {
		trial, err := meter.Measure(context.Background(), two[1], &networks[i], load)
		if err != nil {
			t.Fatal(err)
		}
		count := trial.Latency.Count()
		trial.Latency = nil
		passed = append(passed, over{trial, count})
	}
	said["Over"] = passed
	if _, err := meter.Measure(context.Background(), two[1], &Network{Tier: spec.LinkMacvlan, Parent: "other"}, load); err != nil {
		said["Absent"] = err.Error()
	}
	held, err := meter.Probes.Keeper.Held()
	if err != nil {
		t.Fatal(err)
	}
	said["Left"] = len(held)
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(text))
}

// part is one of the processes, in a network namespace of its own.
type part struct {
	cmd    *exec.Cmd
	input  io.Writer
	output *bufio.Scanner
	engine string
}

func startPart(t *testing.T, name, engine string) *part {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestPart$")
	cmd.Env = append(os.Environ(), partVariable+"="+name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	return &part{cmd, input, bufio.NewScanner(output), engine}
}

// say tells a part that its network is there, and returns its first line.
func (p *part) say(t *testing.T) string {
	t.Helper()
	if _, err := fmt.Fprintln(p.input, p.engine); err != nil {
		t.Fatal(err)
	}
	if !p.output.Scan() {
		t.Fatalf("it said nothing: %v", p.output.Err())
	}
	return p.output.Text()
}

// join makes the veth pair and the tunnel, and sets both ends up.
func join(t *testing.T, one, other *part) {
	t.Helper()
	var handles []*netlink.Handle
	var spaces []*netns.Namespace
	for _, p := range []*part{one, other} {
		ns, err := netns.OfProcess(p.cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		defer ns.Close()
		h, err := ns.Netlink()
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		handles, spaces = append(handles, h), append(spaces, ns)
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name = "eth0"
	pair := &netlink.Veth{LinkAttrs: attributes, PeerName: "eth0", PeerNamespace: netlink.NsFd(spaces[1].FD())}
	if err := handles[0].LinkAdd(pair); err != nil {
		t.Fatal(err)
	}
	for i, h := range handles {
		device, err := h.LinkByName("eth0")
		if err != nil {
			t.Fatal(err)
		}
		address, err := netlink.ParseAddr(two[i].Address.String() + "/24")
		if err != nil {
			t.Fatal(err)
		}
		if err := h.AddrAdd(device, address); err != nil {
			t.Fatal(err)
		}
		if err := h.LinkSetUp(device); err != nil {
			t.Fatal(err)
		}
		red := netlink.NewLinkAttrs()
		red.Name = "red"
		tunnel := &netlink.Vxlan{LinkAttrs: red, VxlanId: 42, Port: 4789, SrcAddr: two[i].Address.AsSlice(), Group: two[1-i].Address.AsSlice(), Learning: true}
		if err := h.LinkAdd(tunnel); err != nil {
			t.Fatal(err)
		}
		if err := h.LinkSetUp(tunnel); err != nil {
			t.Fatal(err)
		}
	}
}
