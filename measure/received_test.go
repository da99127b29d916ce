package measure

import (
	"slices"
	"testing"
	"time"

	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/receive"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// A sample's rate belongs to the thread that was at a place then, even if the watchdog has since
// replaced it. If nothing counted, the rate is unknown, which is not 0.
func TestSampledPollsAreOfTheThreadThatWasThere(t *testing.T) {
	at := time.Unix(1, 0)
	reading := func(at time.Time, tids ...int) reception {
		state := receive.State{Node: "dut", Interface: "in", RX: spec.ReceiveBusyPoll}
		for _, tid := range tids {
			state.Threads = append(state.Threads, receive.Thread{TID: tid})
		}
		return reception{at: at, states: []receive.State{state}}
	}
	before := reading(at, 11, 12, 13)
	before.rates = map[int]float64{11: 300_000, 12: 200_000}
	threads := reading(at.Add(time.Second), 11, 22, 13, 14).since(before)[0].Threads
	var got []float64
	for _, thread := range threads {
		rate := -1.0 // unknown
		if thread.PollsPerSecond != nil {
			rate = *thread.PollsPerSecond
		}
		got = append(got, rate)
	}
	if want := []float64{300_000, 200_000, -1, -1}; !slices.Equal(got, want) {
		t.Errorf("polls a second %v, want %v", got, want)
	}
}

// A death is a fault of the lab, which reports it.
func TestWhatIsNotReceivedIsSaidOnce(t *testing.T) {
	list := []result.Receive{
		{Node: "dut", Interface: "in", RX: "threaded", Problem: "its kernel threads are gone"},
		{Node: "dut", Interface: "out", RX: "busy_poll", Problem: "nines-poller has ended"},
		{Node: "dut", Interface: "more", RX: "awake"},
	}
	got := unreceived(list, []check.Fault{{Of: "dut:out", Problem: "rx: busy_poll of dut:out: receive mode changed since setup: nines-poller has ended"}})
	want := []string{"dut:in was not received by rx: threaded: its kernel threads are gone"}
	if !slices.Equal(got, want) {
		t.Errorf("said %q, want %q", got, want)
	}
}
