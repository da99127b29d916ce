package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/busypoll"
	"nines.dev/nines/engine/client"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// load:tx ──in── dut:in ▸ reflects, waiting by %s; its interrupts may be suspended
const suspendLab = `
name: tbsuspend
topology:
  nodes:
    load: {}
    dut: {rx: suspend, app: {kind: reflect, backend: udp, io: single, wait: %s}}
  links:
    - {name: in, endpoints: ["load:tx", "dut:in"]}
`

// An engine that waits by epoll polls its interface itself; an engine that just sleeps never does,
// with the same interface and settings.
func TestSuspendTakesEffect(t *testing.T) {
	labtest.QuietCore(t)
	labtest.Root(t)
	labs.NeedReceive(t, spec.ReceiveSuspend)
	for _, wait := range []spec.Wait{spec.WaitBusyPoll, spec.WaitBlock} {
		t.Run(string(wait), func(t *testing.T) {
			lab := up(t, fmt.Sprintf(suspendLab, wait))
			now := receivedOf(t, lab)
			if now.Mechanism != "suspend" || now.Settings["attribute/napi_defer_hard_irqs"] == "" {
				t.Errorf("received by %+v", now)
			}
			polls, err := busypoll.CountPolls()
			labtest.Require(t, fmt.Sprintf("BPF programs at tracepoints (%v)", err), err == nil)
			defer polls.Close()
			offer(t, lab, "load", "dut")
			counts, err := polls.Counts()
			if err != nil {
				t.Fatal(err)
			}
			serves := threadNamed(t, lab, "nines-serve")
			var own, packets, ownPolls, allPolls uint64
			for poll, count := range counts {
				if poll.NAPI == now.NAPIs[0] {
					packets += count.Packets
					allPolls += count.Polls
					if poll.TID == serves {
						own += count.Packets
						ownPolls += count.Polls
					}
				}
			}
			if packets < 1000 {
				t.Errorf("%d packets were polled", packets)
			}
			t.Logf("%d of %d packets by the engine's own polls; %d of %d polls", own, packets, ownPolls, allPolls)
			// It also polls when no packets have come. How often depends on how soon the host gives it its CPU back;
			// one that sleeps never does.
			polled := 10*ownPolls > allPolls
			if wait == spec.WaitBlock {
				polled = ownPolls > 0
			}
			if polled != (wait == spec.WaitBusyPoll) {
				t.Errorf("%d of %d polls were the engine's, which waits by %s", ownPolls, allPolls, wait)
			}
		})
	}
}

// offer sends packets from one node's only interface to another's for half a second.
func offer(t *testing.T, lab *Lab, from, to string) {
	t.Helper()
	address := func(node string) string {
		text, _, _ := strings.Cut(lab.Plan().Node(node).Interfaces[0].Addresses[0], "/")
		return text
	}
	sender := lab.Plan().Node(from)
	engine := labtest.StartEngine(t, sender.HostName)
	if _, err := engine.Hello(); err != nil {
		t.Fatal(err)
	}
	port := client.Port{
		Name: "tx", Backend: "udp", Interface: sender.Interfaces[0].Name, IO: "single", Wait: "block",
		LocalIP: address(from), PeerIP: address(to), UDPPort: spec.EnginePort, FrameBytes: 64, Flows: 1,
	}
	if _, err := engine.Open(port); err != nil {
		t.Fatal(err)
	}
	trial := client.Trial{Role: "generate", CPU: -1, Streams: []client.Stream{{Tx: "tx", RatePPS: 20000, Burst: 1, Seed: 1}}, DurationNs: 5e8}
	if _, err := engine.Trial(trial, client.Events{}); err != nil {
		t.Fatal(err)
	}
}

// threadNamed finds the one thread with a name among those of the dut's engine.
func threadNamed(t *testing.T, lab *Lab, name string) int {
	t.Helper()
	engine, err := lab.EngineOf("dut")
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", engine.PID))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		tid := 0
		if err == nil && strings.TrimSpace(string(text)) == name {
			if _, err := fmt.Sscan(filepath.Base(filepath.Dir(path)), &tid); err == nil {
				return tid
			}
		}
	}
	t.Fatalf("the engine has no thread %s", name)
	return 0
}
