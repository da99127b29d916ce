package trace

import (
	"encoding/binary"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// Debian's kernels accept every program, from the oldest that nines supports to the newest and the
// real-time ones; missing tracepoints are due to their build options.
func TestLabKernelsTakeTheRecorder(t *testing.T) {
	labtest.EveryKernel(t, labtest.BootMain, labtest.BootNew, labtest.BootRT, labtest.BootNewRT, labtest.BootCloud)
	if err := Check(); err != nil { // it also loads those that follow packets
		t.Error(err)
	}
	seen := recordLoopback(t)
	for _, m := range seen.Trace.Missing {
		t.Log("missing: " + m)
	}
	// Linux 6.4 and 6.5 introduced these; nines also supports older kernels.
	without := []string{"ipi_send_cpu", "ipi_send_cpumask", "csd_queue_cpu"}
	// The cloud kernel has no AMD machine checks (CONFIG_X86_MCE_AMD).
	without = append(without, "threshold_apic_entry", "threshold_apic_exit", "deferred_error_apic_entry", "deferred_error_apic_exit")
	for _, m := range seen.Trace.Missing {
		name, _, _ := strings.Cut(m, ":")
		for _, l := range without {
			if name == l {
				name = ""
			}
		}
		if name != "" {
			t.Errorf("the kernel does not take %s", m)
		}
	}
}

func TestPacketsAreSeenToBeReceived(t *testing.T) {
	labtest.Root(t)
	recordLoopback(t)
}

// TestPacketsThatAreLateAreFollowed: among packets outside the histograms, exactly those that are
// late in the stack get a record there.
func TestPacketsThatAreLateAreFollowed(t *testing.T) {
	labtest.Root(t)
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	to := conn.LocalAddr().(*net.UDPAddr)
	r, err := Start(Config{Slowest: 1, Stages: &Stages{
		UDPPort: to.Port, Every: 1 << 20, Nodes: map[uint32]string{NetNamespace(unix.Getpid()): "here"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	const limit, sampled, inTime, late = time.Second, 0, 7, 9
	now := monotonic()
	r.Keep(Packet{BeginNs: now, EndNs: now, LatencyNs: limit.Nanoseconds()})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		r.mu.Lock()
		scale, least := r.clock.shared[3], r.clock.shared[4]
		r.mu.Unlock()
		if scale > 0 && least > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the programs know neither clock nor limit: %d, %d", scale, least)
		}
	}
	begin := monotonic()
	for id, lag := range map[uint32]time.Duration{sampled: 0, inTime: 0, late: 2 * limit} {
		// docs/reference/engine-protocol.md
		packet := binary.LittleEndian.AppendUint32(nil, id)
		packet = binary.LittleEndian.AppendUint32(append(packet, 0x55, 1), uint32(lag))
		packet = binary.LittleEndian.AppendUint64(packet, counter())
		if _, err := conn.WriteToUDP(packet, to); err != nil {
			t.Fatal(err)
		}
		if _, _, err := conn.ReadFromUDP(packet); err != nil {
			t.Fatal(err)
		}
	}
	end := monotonic()
	r.Keep(Packet{BeginNs: begin, EndNs: end, LatencyNs: 2 * limit.Nanoseconds()})
	recording, err := r.Stop()
	if err != nil {
		t.Fatal(err)
	}
	followed := make(map[int64]bool)
	for _, e := range recording.Events {
		if e.Kind == result.EventStage && strings.HasPrefix(e.Name, "stack") {
			followed[e.Value] = true
		}
	}
	if !followed[sampled] || !followed[late] || followed[inTime] && end-begin < limit.Nanoseconds() {
		t.Errorf("followed were %v", followed)
	}
}

// recordLoopback records a thread that sends itself datagrams, and checks the recording against
// what happened.
func recordLoopback(t *testing.T) Recording {
	t.Helper()
	r, err := Start(Config{})
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const datagrams = 20
	begin := monotonic()
	for range datagrams {
		if _, err := conn.WriteToUDP([]byte("x"), conn.LocalAddr().(*net.UDPAddr)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := conn.ReadFromUDP(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		pause := unix.NsecToTimespec(int64(time.Millisecond))
		_ = unix.Nanosleep(&pause, nil) // an early wake-up does no harm
	}
	end := monotonic()
	r.Keep(Packet{BeginNs: begin, EndNs: end, LatencyNs: end - begin})
	recording, err := r.Stop()
	if err != nil {
		t.Fatal(err)
	}
	count := make(map[result.EventKind]int)
	receives := 0
	for _, e := range recording.Events {
		count[e.Kind]++
		if e.Kind == result.EventSoftirq && e.Name == "NET_RX" {
			receives++
		}
	}
	if receives < datagrams {
		t.Errorf("%d receive softirqs of %d datagrams", receives, datagrams)
	}
	if count[result.EventPoll] < datagrams {
		t.Errorf("%d polls of %d datagrams", count[result.EventPoll], datagrams)
	}
	for _, kind := range []result.EventKind{result.EventThread, result.EventInterrupt, result.EventTimer, result.EventWakeup} {
		if count[kind] < datagrams {
			t.Errorf("%d events %s while a thread slept %d times", count[kind], kind, datagrams)
		}
	}
	for _, e := range recording.Events {
		if e.Kind == result.EventTimer && strings.HasPrefix(e.Name, "0x") {
			t.Errorf("the function %s has no name", e.Name)
			break
		}
	}
	if recording.Trace.Lost != 0 || recording.Trace.Events == 0 {
		t.Errorf("%+v", recording.Trace)
	}
	return recording
}
