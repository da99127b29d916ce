package trace

import (
	"testing"

	"nines.dev/nines/result"
)

// A softirq that received packets of others says so in place of its last poll.
func TestPacketsOfOthersAreTold(t *testing.T) {
	foreign := spanned(160, 300, spanSoftirq, 3)
	foreign.flags, foreign.part, foreign.b = foreign.flags|flagForeign, 64, 5
	got := events(span{50, 1000}, 7, foreign)
	hold(t, got,
		brief{50, 1000, result.EventThread, "engine", 7},
		brief{160, 300, result.EventSoftirq, "NET_RX", 7},
		brief{300, 300, result.EventForeign, "dut:in", 7})
	if got[2].Value != 64 {
		t.Errorf("%d packets", got[2].Value)
	}
}

// What is cut off a stretch whose begin was overwritten has the part of the hole that lies in it.
func TestAHoleIsCutWithItsStretch(t *testing.T) {
	whole := piece{stretch: span{0, 1000}, known: 400, lost: 80, records: []record{
		spanned(400, 410, spanSoftirq, 3), spanned(500, 510, spanSoftirq, 3), {ns: 600, kind: kindWaking}}}
	if kind := whole.commonest(); kind != result.EventSoftirq {
		t.Errorf("most events are %q", kind)
	}
	for _, test := range []struct {
		cut, hole span
		lost      uint64
	}{
		{span{0, 1000}, span{0, 400}, 80},
		{span{200, 1000}, span{200, 400}, 40},
		{span{0, 200}, span{0, 200}, 40},
		{span{500, 1000}, span{500, 500}, 0},
	} {
		cut := whole.cut(test.cut)
		if cut.hole() != test.hole || cut.lost != test.lost {
			t.Errorf("%v has the hole %v with %d events, want %v with %d", test.cut, cut.hole(), cut.lost, test.hole, test.lost)
		}
	}
}

// Where nothing is left of a stretch, all of it is a hole.
func TestNothingLeftIsAHole(t *testing.T) {
	p := piece{stretch: span{100, 200}, lost: 5}
	if p.known = p.firstNs(); p.hole() != (span{100, 200}) || p.commonest() != "" {
		t.Errorf("the hole is %v, mostly %q", p.hole(), p.commonest())
	}
}
