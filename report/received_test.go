package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"nines.dev/nines/result"
)

// Trials with the same way of receiving share a line, with the smallest and largest of their
// threads' figures; an unavailable way has its reason.
func TestReceivedIsToldByWay(t *testing.T) {
	rate := func(polls float64) *float64 { return &polls }
	thread := func(use, polls float64) []result.ReceiveThread {
		return []result.ReceiveThread{{CPUs: []int{1}, Scheduling: "idle:0", CPUUse: use, PollsPerSecond: rate(polls)}}
	}
	h := result.NewHistogram()
	h.Record(5000)
	var trials []result.Record
	for i, received := range [][]result.Receive{
		nil,
		{{Node: "dut", Interface: "in", RX: "busy_poll", Mechanism: "io_uring", Threads: thread(0.4, 100000)}},
		{{Node: "dut", Interface: "in", RX: "busy_poll", Mechanism: "io_uring", Threads: thread(0.9, 250000)}},
		{{Node: "dut", Interface: "in", RX: "busy_poll", Mechanism: "io_uring", Problem: "nines-poller has ended"}},
		{{Node: "dut", Interface: "out", RX: "busy_poll", Mechanism: "io_uring", Threads: []result.ReceiveThread{
			{CPUs: []int{1}, Scheduling: "fifo:5", CPUUse: 0.15, BackOffs: 2}, {CPUs: []int{1}, Scheduling: "fifo:5", CPUUse: 0.15, BackOffs: 1}}}},
	} {
		trials = append(trials, result.Record{
			Trial:      result.Trial{Repeat: i + 1, TxPackets: 1, RxPackets: 1, Verdict: result.Clean},
			Histograms: result.Histograms{Latency: h, FromTx: h, SendLag: h}, Details: result.Details{Receive: received},
		})
	}
	r := resultOf(t, trials...)
	var out bytes.Buffer
	if err := WriteReceived(&out, r); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"dut:in rx: busy_poll by io_uring, on CPU 1 as idle:0, busy 40 to 90 % of the time, 100,000 to 250,000 polls a second (2 trials)",
		"dut:in rx: busy_poll by io_uring: nines-poller has ended (1 trial)",
		"dut:out rx: busy_poll by io_uring, on CPU 1 as fifo:5, busy 15 % of the time, stopped 3 times by the watchdog (1 trial)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
}

// Interfaces and threads of a foreign result may be any number: each costs the same, and the list is
// cut.
func TestAnyNumberOfInterfacesIsCut(t *testing.T) {
	const most = 50_000
	h := result.NewHistogram()
	h.Record(5000)
	received := []result.Receive{{Node: "dut", Interface: "in", RX: "busy_poll"}}
	for i := range most {
		received[0].Threads = append(received[0].Threads, result.ReceiveThread{CPUs: []int{i}, Scheduling: "idle:0", CPUUse: float64(i) / most})
		received = append(received, result.Receive{Node: "dut", Interface: fmt.Sprint(i), RX: "busy_poll"})
	}
	var out bytes.Buffer
	if err := WriteReceived(&out, resultOf(t, result.Record{
		Trial:      result.Trial{Repeat: 1, TxPackets: 1, RxPackets: 1, Verdict: result.Clean},
		Histograms: result.Histograms{Latency: h, FromTx: h, SendLag: h}, Details: result.Details{Receive: received},
	})); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"CPU 7 as idle:0 and others, busy 0 to 100 % of the time (1 trial)", "dut:58 rx: busy_poll (1 trial) and others in 1 trial, whose details.json has all"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%.5000s", want, text)
		}
	}
}
