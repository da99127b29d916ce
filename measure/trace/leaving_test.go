package trace

import (
	"testing"

	"nines.dev/nines/result"
)

// A thread's event has the reason why it left its CPU, and its priority.
func TestHowAThreadLeaves(t *testing.T) {
	const fifo50 = 50 << 8
	for _, c := range []struct {
		name      string
		part      uint16
		flags     uint8
		state     string
		preempted bool
		priority  int64
	}{
		{"preempted", fifo50, flagRunnable, "", true, 50},
		{"asleep", 'S', 0, "S", false, 0},
		{"stopped", 'T', 0, "T", false, 0},
		{"in a wait of a deadline thread", 100<<8 | 'D', 0, "D", false, 100},
	} {
		events := eventsOf(piece{stretch: span{0, 100}, running: 7, records: []record{
			{ns: 10, kind: kindSwitch, a: 0, b: 7},
			{ns: 20, kind: kindSwitch, flags: c.flags, part: c.part, a: 7, b: 0},
		}}, &names{threads: map[uint32]string{7: "engine"}})
		var found *result.Event
		for i := range events {
			if events[i].TID == 7 {
				found = &events[i]
			}
		}
		if found == nil || found.State != c.state || found.Preempted != c.preempted || found.Value != c.priority {
			t.Errorf("%s: %+v", c.name, found)
		}
	}
}
