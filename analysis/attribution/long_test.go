package attribution

import (
	"fmt"
	"testing"

	"nines.dev/nines/result"
)

// stormy is a stall of half a second with the given number of events on the receiver's CPU and a
// thousand packets: what an overloaded host leaves behind.
func stormy(events int) Input {
	m := newMade()
	length := 500 * ms
	m.add(result.EventWork, 2, 0, length, "drain_all")
	step := length / int64(events)
	for i := range int64(events) {
		m.add(result.EventThread, 2, i*step, (i+1)*step, fmt.Sprintf("hog-%d", i%8), tid(int32(200+i%8)))
		m.add(result.EventInterrupt, 2, i*step, i*step+step/4, "local_timer")
	}
	for i := range int64(1000) {
		at := i * length / 1000
		m.late(at, 0, 10*us, length-at)
	}
	return Input{Slow: m.slow, Ordinary: m.usual, Events: m.events, Details: m.details}
}

// The time to analyse a long stall must not grow with the product of packets and events.
func BenchmarkStall(b *testing.B) {
	for _, events := range []int{10_000, 100_000} {
		in := stormy(events)
		b.Run(fmt.Sprintf("%d events", 2*events), func(b *testing.B) {
			for b.Loop() {
				Attribute(in)
			}
		})
	}
}
