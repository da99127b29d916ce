package port

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// engine is the path of the built nines-engine.
func engine(t *testing.T) string {
	t.Helper()
	path, err := node.Program("nines-engine")
	labtest.Require(t, "nines-engine (make build)", err == nil)
	return path
}

// startEngine starts an engine as a node's switch is started, and returns what kills it.
func startEngine(t *testing.T, control string) (kill func()) {
	t.Helper()
	command := exec.Command(engine(t), "--socket", control)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	kill = func() {
		if !ended {
			ended = true
			_ = command.Process.Kill()
			_ = command.Wait()
		}
	}
	t.Cleanup(kill)
	return kill
}

// TestSocketsOfASwitch has two holders, whose guests send packets to each other over a real switch, which
// is killed and started again.
//
//	guest ── s ── switch-1 ┐ nines-engine ┌ switch-2 ── s ── guest
func TestSocketsOfASwitch(t *testing.T) {
	labtest.Require(t, "root, for DPDK's memory", os.Geteuid() == 0)
	// Short, as a socket's path is.
	folder, err := os.MkdirTemp("", "nines-port-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	k, control, ctx := Keeper{Folder: filepath.Join(folder, "ports")}, filepath.Join(folder, "control"), t.Context()
	kill := startEngine(t, control)
	for i := range 2 {
		if started, err := StartSwitch(ctx, control, client.Switch{CPUs: []int{}, AgeingNs: 300e9}); err != nil || started != (i == 0) {
			t.Fatalf("call %d: started %t, %v", i, started, err)
		}
	}
	var orders []Order
	for i := range 2 {
		o := Order{Holder: fmt.Sprint("claim-", i+1), Mount: "/run/x", Port: Port{Name: fmt.Sprint("switch-", i+1), Tier: spec.LinkSwitch, Parent: "switch", Socket: control}}
		orders = append(orders, o)
		for range 2 {
			if _, err := k.Take(ctx, o); err != nil {
				t.Fatal(err)
			}
		}
	}
	carry(t, k, orders)

	kill()
	startEngine(t, control)
	if started, err := StartSwitch(ctx, control, client.Switch{CPUs: []int{}, AgeingNs: 300e9}); err != nil || !started {
		t.Fatalf("started %t, %v", started, err)
	}
	if err := k.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	carry(t, k, orders)

	for _, o := range orders {
		for range 2 {
			if err := k.GiveBack(ctx, o.Holder); err != nil {
				t.Fatal(err)
			}
		}
	}
	if left, err := os.ReadDir(k.Folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	err = withSwitch(ctx, control, func(c *client.Client) error {
		stats, err := c.SwitchStats()
		if len(stats.Ports) > 0 {
			err = errors.Join(err, fmt.Errorf("the switch has the ports %+v", stats.Ports))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestASwitchThatIsGoneKeepsNoPort: what it had is gone with it.
func TestASwitchThatIsGoneKeepsNoPort(t *testing.T) {
	folder := t.TempDir()
	k, control, ctx := Keeper{Folder: filepath.Join(folder, "ports")}, filepath.Join(folder, "c"), t.Context()
	kill := startEngine(t, control)
	if _, err := StartSwitch(ctx, control, client.Switch{CPUs: []int{}}); err != nil {
		t.Fatal(err)
	}
	o := Order{Holder: "claim", Port: Port{Name: "switch-1", Tier: spec.LinkSwitch, Parent: "switch", Socket: control}}
	if _, err := k.Take(ctx, o); err != nil {
		t.Fatal(err)
	}
	kill()
	if _, err := k.Take(ctx, o); err == nil {
		t.Error("a port of no switch was given")
	}
	if err := k.GiveBack(ctx, "claim"); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(k.Folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// connect opens a port of a guest that is the number-th end of a link, at a socket of the switch.
func connect(t *testing.T, guest *labtest.Engine, name, socket string, number int, mac, peer string) {
	t.Helper()
	if _, err := guest.Open(client.Port{
		Name: name, Backend: "dpdk", IO: "batch", Wait: "spin", FrameBytes: 64, Flows: 1, UDPPort: 7999,
		Device:   fmt.Sprintf("net_virtio_user%d,path=%s,mac=%s", number, socket, mac),
		LocalMAC: mac, LocalIP: fmt.Sprintf("198.18.0.%d", number), PeerMAC: peer, PeerIP: fmt.Sprintf("198.18.0.%d", 3-min(number, 2)),
	}); err != nil {
		t.Fatal(err)
	}
}

// startGuest starts an engine with DPDK, to be a guest.
func startGuest(t *testing.T) *labtest.Engine {
	t.Helper()
	guest := labtest.RunEngine(t, exec.Command(engine(t)))
	if _, err := guest.StartDPDK(client.DPDK{Prefix: fmt.Sprintf("nxp%d-%d", os.Getpid(), time.Now().UnixNano()%1e6), MemoryBytes: 128 << 20, CPU: -1}); err != nil {
		t.Fatal(err)
	}
	return guest
}

// carry sends packets from the first port to the second, by an engine that is a guest at both.
func carry(t *testing.T, k Keeper, orders []Order) {
	t.Helper()
	guest := startGuest(t)
	defer guest.End(t)
	names := []string{"tx", "rx"}
	for i, o := range orders {
		// Addresses that a guest has given itself: the switch learns them.
		connect(t, guest, names[i], k.SocketPath(o.Port), i+1, fmt.Sprintf("02:00:00:00:00:%02d", i+1), fmt.Sprintf("02:00:00:00:00:%02d", 2-i))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = guest.Close() })
	defer stop()
	// Two seconds, in which a busy host gives each thread a CPU; and no more packets than a ring has room for.
	r, err := guest.Trial(client.Trial{
		Role: "loop", CPU: -1, Streams: []client.Stream{{Tx: "tx", Rx: "rx", RatePPS: 100, Burst: 4, Seed: 3}}, WarmupNs: 50e6, DurationNs: 2e9, DrainNs: 3e9, Outliers: 10,
	}, client.Events{})
	if err != nil {
		t.Fatal(err)
	}
	if r.TxPackets == 0 || r.RxPackets != r.TxPackets {
		t.Errorf("%d of %d packets arrived", r.RxPackets, r.TxPackets)
	}
}
