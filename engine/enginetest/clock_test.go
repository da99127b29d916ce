package enginetest

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
)

// TestTwoEnginesReadOneClock: what two engines of one machine say of it leads from the counter of the one to
// the clock of the other, as it does between two machines.
func TestTwoEnginesReadOneClock(t *testing.T) {
	n := direct(t, 1500)
	v := variant{backend: "udp", io: "single", wait: "block", frameBytes: 64}
	sink, generator := startEngine(t, n.generator), startEngine(t, n.generator)
	open(t, generator, v.port("tx", "rx"))
	open(t, sink, v.port("rx", ""))
	var clocks [2]client.Clock
	for i, engine := range []*client.Client{generator, sink} {
		var err error
		if clocks[i], err = engine.Clock(); err != nil {
			t.Fatal(err)
		}
	}
	tx, rx := clocks[0], clocks[1]
	offset := (tx.RealtimeNs - tx.Ns) - (rx.RealtimeNs - rx.Ns)
	if allowed := tx.BracketNs + rx.BracketNs; max(offset, -offset) > allowed {
		t.Errorf("one clock is %d ns ahead of itself, and its readings leave %d ns open", offset, allowed)
	}
	var timex unix.Timex
	state, err := unix.Adjtimex(&timex)
	if err != nil {
		t.Fatal(err)
	}
	if tx.Synchronised != (state != unix.TIME_ERROR) || tx.Synchronised != rx.Synchronised {
		t.Errorf("synchronised %t and %t, and adjtimex says %d", tx.Synchronised, rx.Synchronised, state)
	}

	// By a sender's clock that is behind, packets seem to be on their way for longer.
	const behind = 20 * time.Millisecond
	least := map[time.Duration]int64{}
	for _, shift := range []time.Duration{0, behind} {
		trial := slowTrial("sink", "", "rx")
		sender := tx.Scale
		sender.Ns += offset - shift.Nanoseconds()
		trial.Sender = &sender
		sent, received := pairInto(t, generator, sink, trial)
		checkPair(t, sent, received)
		least[shift] = received.FromTx.Min
	}
	// The counters' rates are known to parts of a million, over the seconds since they were read.
	if allowed := (100 * time.Microsecond).Nanoseconds(); least[behind] < behind.Nanoseconds()-allowed || least[0] >= behind.Nanoseconds() {
		t.Errorf("at least %d ns, and %d ns by a clock that is %v behind", least[0], least[behind], behind)
	}
}
