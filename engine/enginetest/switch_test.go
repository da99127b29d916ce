package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// A switch with vhost-user ports, between guests of DPDK's virtio-user:
//
//	good guest            switch            bad guest
//	+-----------+    +--------------+    +-------------+
//	| tx  rx   -+----+- tx  rx  in -+----+- in         |
//	+-----------+    +--------------+    +-------------+

// bench is a running switch.
type bench struct {
	*client.Client
	folder, socket string
}

func (b *bench) path(port string) string { return filepath.Join(b.folder, port) }

// startSwitch starts a switch with static addresses for its ports.
func startSwitch(t *testing.T, ports ...string) *bench {
	t.Helper()
	b := startSwitchOn(t, []int{})
	for _, port := range ports {
		b.listen(t, port, client.SwitchPort{Port: port, MACs: []string{macs[port]}})
	}
	return b
}

// startSwitchOn runs the engine like a link's switch, on a control socket.
func startSwitchOn(t *testing.T, cpus []int) *bench {
	t.Helper()
	b := &bench{folder: t.TempDir()}
	b.socket = b.path("control")
	command := exec.Command(labtest.EnginePath(t), "--socket", b.socket)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		if err := command.Wait(); err != nil {
			t.Errorf("switch: %v", err)
		}
	})
	b.Client = b.dial(t)
	t.Cleanup(func() { _ = b.Close() })
	if err := b.StartSwitch(client.Switch{CPUs: cpus, AgeingNs: 300e9}); err != nil {
		t.Fatal(err)
	}
	return b
}

// listen adds a vhost-user port.
func (b *bench) listen(t *testing.T, port string, config client.SwitchPort) {
	t.Helper()
	open(t, b.Client, client.Port{
		Name: port, Backend: "vhost", Device: b.path(port), Server: true, IO: "batch", Wait: "spin", FrameBytes: 1518,
	})
	if err := b.Attach(config); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) dial(t *testing.T) *client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := client.Dial(ctx, b.socket)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// guest starts an engine whose ports are virtio-user devices at the switch.
func (b *bench) guest(t *testing.T, ports ...string) *labtest.Engine {
	t.Helper()
	g := startDPDK(t, "", false)
	peers := map[string]string{"tx": "rx", "rx": "tx", "in": "rx"}
	for i, port := range ports {
		device := fmt.Sprintf("net_virtio_user%d,path=%s,mac=%s", i, b.path(port), macs[port])
		open(t, g.Client, dpdkPort(port, peers[port], device, 64))
	}
	return g
}

// checkSums checks for every port, of which none is impaired: received = forwarded + flooded + dropped.
func checkSums(t *testing.T, stats client.SwitchStats) {
	t.Helper()
	for _, p := range stats.Ports {
		total := p.Forwarded + p.Flooded
		for _, d := range p.Drops {
			total += d.Count
		}
		if total != p.RxPackets {
			t.Errorf("port %s: forwarded %d, flooded %d, dropped %v are not the %d received", p.Port, p.Forwarded,
				p.Flooded, p.Drops, p.RxPackets)
		}
	}
}

func (b *bench) port(t *testing.T, name string) client.SwitchPortStats {
	t.Helper()
	stats, err := b.SwitchStats()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range stats.Ports {
		if p.Port == name {
			return p
		}
	}
	t.Fatalf("no port %s", name)
	return client.SwitchPortStats{}
}

func TestSwitchGuestIsKilledInTraffic(t *testing.T) {
	b := startSwitch(t, "tx", "rx", "in")
	good := b.guest(t, "tx", "rx")
	rounds := 5
	if labtest.Long() {
		rounds = 20
	}
	for range rounds {
		bad := b.guest(t, "in")
		before := b.port(t, "in").RxPackets
		ended := make(chan error, 1)
		go func() {
			flood := slowTrial("generate", "in", "")
			flood.Streams[0].RatePPS, flood.DurationNs = 0, 60e9
			_, err := bad.Trial(flood, client.Events{})
			ended <- err
		}()
		for deadline := time.Now().Add(10 * time.Second); b.port(t, "in").RxPackets < before+10000; {
			if time.Now().After(deadline) {
				t.Fatalf("no traffic from the guest: %+v", b.port(t, "in"))
			}
			time.Sleep(time.Millisecond)
		}
		bad.Kill(t)
		if err := <-ended; !errors.Is(err, client.ErrGone) {
			t.Fatalf("the killed guest's trial: %v", err)
		}
		for deadline := time.Now().Add(10 * time.Second); b.port(t, "in").State != "waiting"; {
			if time.Now().After(deadline) {
				t.Fatalf("port in is %s", b.port(t, "in").State)
			}
			time.Sleep(time.Millisecond)
		}
		r, err := good.Trial(slowTrial("loop", "tx", "rx"), client.Events{})
		if err != nil {
			t.Fatal(err)
		}
		if r.TxPackets == 0 || r.RxPackets != r.TxPackets {
			t.Fatalf("the others lost %d of %d packets; %v", r.TxPackets-r.RxPackets, r.TxPackets, r.Drops)
		}
	}
	stats, err := b.SwitchStats()
	if err != nil {
		t.Fatal(err)
	}
	checkSums(t, stats)
}

// Guests that listen are found by a switch that reconnects or restarts.
func TestSwitchAsClientFindsItsGuestAgain(t *testing.T) {
	b := startSwitch(t)
	for _, port := range []string{"tx", "rx"} {
		open(t, b.Client, client.Port{
			Name: port, Backend: "vhost", Device: b.path(port), IO: "batch", Wait: "spin", FrameBytes: 1518,
		})
		if err := b.Attach(client.SwitchPort{Port: port, MACs: []string{macs[port]}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		g := startDPDK(t, "", false)
		for i, port := range []string{"tx", "rx"} {
			_ = os.Remove(b.path(port)) // of the previous guest, which was killed
			device := fmt.Sprintf("net_virtio_user%d,path=%s,server=1,mac=%s", i, b.path(port), macs[port])
			open(t, g.Client, dpdkPort(port, map[string]string{"tx": "rx", "rx": "tx"}[port], device, 64))
		}
		r, err := g.Trial(slowTrial("loop", "tx", "rx"), client.Events{})
		if err != nil {
			t.Fatal(err)
		}
		if r.TxPackets == 0 || r.RxPackets != r.TxPackets {
			t.Errorf("%d of %d packets arrived; %v", r.RxPackets, r.TxPackets, r.Drops)
		}
		g.Kill(t)
	}
}

// Invalid input on the control socket, whole lines and broken ones, stops neither the switch nor
// later clients.
func TestSwitchControlSocketTakesNonsense(t *testing.T) {
	b := startSwitch(t, "tx", "rx")
	_ = b.Close() // one client at a time
	random := rand.New(rand.NewPCG(1, 2))
	seeds, err := filepath.Glob("../control/fuzz_seeds/*")
	if err != nil || len(seeds) == 0 {
		t.Fatalf("no seeds: %v", err)
	}
	for range 200 {
		c, err := net.Dial("unix", b.socket)
		for deadline := time.Now().Add(20 * time.Second); err != nil; c, err = net.Dial("unix", b.socket) {
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond) // lets other clients have their turn
		}
		for range 20 {
			line, err := os.ReadFile(seeds[random.IntN(len(seeds))])
			if err != nil {
				t.Fatal(err)
			}
			// These commands end or block what this test needs; all others are allowed.
			text := string(line)
			if strings.Contains(text, "stop") || strings.Contains(text, "pcap") || strings.Contains(text, "dpdk") {
				continue
			}
			for range random.IntN(4) {
				line[random.IntN(len(line))] = byte(random.IntN(256))
			}
			if _, err := c.Write(append(line, '\n')); err != nil {
				break
			}
		}
		_ = c.Close()
	}
	again := b.dial(t)
	defer again.Close()
	stats, err := again.SwitchStats()
	if err != nil {
		t.Fatal(err)
	}
	if len(stats.Ports) != 2 {
		t.Errorf("%d ports, want 2", len(stats.Ports))
	}
	checkSums(t, stats)
}
