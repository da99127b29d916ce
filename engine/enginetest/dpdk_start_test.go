package enginetest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// Two engines, each with its own DPDK, connected by a socket and shared memory, or by a veth pair
// in a namespace:
//
//	generator                     sink
//	+-------------+  a.sock    +-------------+
//	| tx  device -+------------+- rx  device |
//	+-------------+            +-------------+

// bareEngine runs an engine until the test ends, in a namespace if there is one.
func bareEngine(t *testing.T, ns string) *labtest.Engine {
	t.Helper()
	labtest.Require(t, "root, for DPDK's memory and devices", os.Geteuid() == 0)
	return labtest.StartEngine(t, ns)
}

func startDPDK(t *testing.T, ns string, huge bool) *labtest.Engine {
	t.Helper()
	return startDPDKWith(t, ns, huge, engineMemory)
}

func startDPDKWith(t *testing.T, ns string, huge bool, memoryBytes int) *labtest.Engine {
	t.Helper()
	if huge {
		wantHugepages(t, memoryBytes>>21)
	}
	engine := bareEngine(t, ns)
	prefix := fmt.Sprintf("nxt%d-%d", os.Getpid(), serial.Add(1))
	started, err := engine.StartDPDK(client.DPDK{Prefix: prefix, MemoryBytes: int64(memoryBytes), Huge: huge, CPU: -1})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(started.Version, "DPDK ") {
		t.Errorf("version %q", started.Version)
	}
	return engine
}

// dpdkPort is a port with the addresses of the network tests.
func dpdkPort(name, peer, device string, frameBytes int) client.Port {
	port := client.Port{
		Name: name, Backend: "dpdk", Device: device, IO: "batch", Wait: "spin",
		LocalMAC: macs[name], LocalIP: addresses[name], UDPPort: 7999, FrameBytes: frameBytes, Flows: 1,
	}
	if peer != "" {
		port.PeerMAC, port.PeerIP = macs[peer], addresses[peer]
	}
	return port
}

// slowTrial sends so few packets that the smallest queue (virtio's, 256) holds them all, for so long that
// a busy host gives each thread a CPU meanwhile.
func slowTrial(role, tx, rx string) client.Trial {
	return client.Trial{
		Role: role, CPU: -1, Streams: []client.Stream{{Tx: tx, Rx: rx, RatePPS: 250, Burst: 4, Seed: 3}},
		WarmupNs: 50e6, DurationNs: 800e6, DrainNs: 3e9, Outliers: 10,
	}
}

type outcome struct {
	client.TrialResult
	err error
}

// pair runs a trial from tx of one engine to rx of another.
func pair(t *testing.T, generator, sink *client.Client) (sent, received client.TrialResult) {
	t.Helper()
	return pairInto(t, generator, sink, slowTrial("sink", "", "rx"))
}

// pairInto is pair with another trial of the sink's.
func pairInto(t *testing.T, generator, sink *client.Client, receiving client.Trial) (sent, received client.TrialResult) {
	t.Helper()
	startNs, done := begin(t, sink, receiving)
	sending := slowTrial("generate", "tx", "")
	sending.StartNs = startNs + 1e9
	sent, err := generator.Trial(sending, client.Events{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.End(sent.TxPackets); err != nil {
		t.Fatal(err)
	}
	o := <-done
	if o.err != nil {
		t.Fatal(o.err)
	}
	return sent, o.TrialResult
}

// begin starts a trial, and again where its port has no peer yet: on a busy host the two need longer to find each
// other than an engine waits. It returns when the trial began, and its outcome.
func begin(t *testing.T, engine *client.Client, trial client.Trial) (startNs int64, done <-chan outcome) {
	t.Helper()
	for try := 1; ; try++ {
		started, ended := make(chan int64, 1), make(chan outcome, 1)
		go func() {
			r, err := engine.Trial(trial, client.Events{Started: func(s client.Started) { started <- s.StartNs }})
			ended <- outcome{r, err}
		}()
		select {
		case at := <-started:
			return at, ended
		case o := <-ended:
			var refused *client.Error
			if try == 5 || !errors.As(o.err, &refused) || refused.Errno != "ENOTCONN" {
				t.Fatal(o.err)
			}
			t.Logf("again: %v", o.err)
		}
	}
}

func checkPair(t *testing.T, sent, received client.TrialResult) {
	t.Helper()
	// If the host delays the generator at the end, it sends fewer.
	slow := slowTrial("", "", "")
	if want := uint64(slow.Streams[0].RatePPS) * uint64(slow.DurationNs) / 1e9; sent.TxPackets == 0 || sent.IntendedPackets != want {
		t.Errorf("sent %d of %d, want %d", sent.TxPackets, sent.IntendedPackets, want)
	}
	if received.RxPackets != sent.TxPackets || received.Latency.Count != sent.TxPackets {
		t.Errorf("received %d and recorded %d of %d; drops %v, %v", received.RxPackets, received.Latency.Count,
			sent.TxPackets, sent.Drops, received.Drops)
	}
	if received.DuplicatePackets+received.ReorderedPackets+received.InvalidPackets != 0 {
		t.Errorf("duplicate %d, reordered %d, invalid %d; want none", received.DuplicatePackets,
			received.ReorderedPackets, received.InvalidPackets)
	}
}
