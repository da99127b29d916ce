package enginetest

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/test/labtest"
)

// sleeping opens virtio-user ports whose threads sleep until the switch wakes them.
func (b *bench) sleeping(t *testing.T, port, peer string) *labtest.Engine {
	t.Helper()
	g := startDPDK(t, "", false)
	config := dpdkPort(port, peer, fmt.Sprintf("net_virtio_user0,path=%s,mac=%s", b.path(port), macs[port]), 64)
	config.Wait = "block"
	opened, err := g.Open(config)
	if err != nil || opened.Wait != "block" {
		t.Fatalf("it waits by %q: %v", opened.Wait, err)
	}
	return g
}

// cpuTime is how long an engine has run, all threads together.
func cpuTime(t *testing.T, e *labtest.Engine) time.Duration {
	t.Helper()
	id, err := proc.Of(e.PID())
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(id.CPUTicks()) * 10 * time.Millisecond // USER_HZ is 100
}

// TestDPDKSleeps: no packet is lost or late by seconds where both ends sleep, and the sink of a few packets needs
// little of a CPU. One that polled would have it for as long as the host gave it.
func TestDPDKSleeps(t *testing.T) {
	b := startSwitch(t, "tx", "rx")
	generator, sink := b.sleeping(t, "tx", "rx"), b.sleeping(t, "rx", "")
	for range 2 { // the second begins with what the first left
		before := cpuTime(t, sink)
		sent, received := pair(t, generator.Client, sink.Client)
		checkPair(t, sent, received)
		// The trial lasts 1.8 s and more. A thread that nobody wakes looks once in 100 ms.
		if ran := cpuTime(t, sink) - before; ran > 500*time.Millisecond {
			t.Errorf("the sink of %d packets ran for %v", received.RxPackets, ran)
		}
		if bursts := sent.TxPackets / 4; received.Runs < bursts/4 {
			t.Errorf("the sink was woken %d times for %d bursts", received.Runs, bursts)
		}
	}
}

// TestDPDKSleepsAtFullRate: a sender that fills its queue, and a sink that is asleep at one moment and has a full queue
// at the next, end; and all that the switch handed over is received.
func TestDPDKSleepsAtFullRate(t *testing.T) {
	b := startSwitch(t, "tx", "rx")
	generator, sink := b.sleeping(t, "tx", "rx"), b.sleeping(t, "rx", "")
	started, done := make(chan struct{}, 1), make(chan outcome, 1)
	go func() {
		r, err := sink.Trial(slowTrial("sink", "", "rx"), client.Events{Started: func(client.Started) { started <- struct{}{} }})
		done <- outcome{r, err}
	}()
	<-started
	trial := slowTrial("generate", "tx", "")
	trial.Streams[0].RatePPS, trial.Streams[0].Burst = 0, 64
	sent, err := generator.Trial(trial, client.Events{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Client.End(sent.TxPackets); err != nil {
		t.Fatal(err)
	}
	o := <-done
	if o.err != nil {
		t.Fatal(o.err)
	}
	stats, err := b.SwitchStats()
	if err != nil {
		t.Fatal(err)
	}
	var given uint64
	for _, p := range stats.Ports {
		if p.Port == "rx" {
			given = p.TxPackets
		}
	}
	// Announcements are no packets of the trial's, and its warm-up's are counted apart.
	if got := o.RxPackets + o.WarmupRxPackets; got == 0 || got > given || got+floodsAtMost < given {
		t.Errorf("received %d of the %d packets that the switch handed over; %d sent", got, given, sent.TxPackets)
	}
}

// TestDPDKReflectsAsleep: a service that sleeps, without a time limit of its own, is woken again by a peer that left
// and came back. Its ring is then empty, without the request of before.
func TestDPDKReflectsAsleep(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "a.sock")
	dut := startDPDK(t, "", true)
	in := dpdkPort("in", "", "net_virtio_user0,server=1,path="+socket, 64)
	in.Wait, in.LocalMAC = "block", macs["in"]
	open(t, dut.Client, in)
	if err := dut.Serve(client.Serve{Role: "reflect", Ports: []string{"in"}, CPU: -1}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		generator := startDPDK(t, "", true)
		open(t, generator.Client, dpdkPort("tx", "in", "net_vhost0,client=1,iface="+socket, 64))
		r, err := generator.Trial(slowTrial("loop", "tx", "tx"), client.Events{})
		if err != nil {
			t.Fatal(err)
		}
		checkAll(t, r)
		generator.Kill(t)
	}
}
