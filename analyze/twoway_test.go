package analyze

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/result"
)

// talk is a conversation of two hosts: n packets each way, every 10 µs, that take 50 µs and more,
// and 30 µs back; POST's clock is ahead. Packets of ports beyond the first are further flows.
func talk(n int, aheadNs int64, ports int) points {
	var p points
	payload := func(i int) []byte { return binary.BigEndian.AppendUint32(make([]byte, 8), uint32(i)) }
	for i := range n {
		at := int64(i) * 10_000
		port := 40000 + i%ports
		there := packet{from: fmt.Sprintf("10.0.0.1:%d", port), to: "10.0.1.1:5001", payload: payload(i)}
		again := packet{to: fmt.Sprintf("10.0.0.1:%d", port), from: "10.0.1.1:5001", payload: payload(i)}
		p.ahead(at, 50_000+int64(i%100)*10+aheadNs, there.frame())
		p.back(at+5000+aheadNs, 30_000+int64(i%100)*10-aheadNs, again.frame())
	}
	byTime := func(a, b taken) int { return compare(a.ns, b.ns) }
	slices.SortStableFunc(p.pre, byTime)
	slices.SortStableFunc(p.post, byTime)
	return p
}

// Traffic in both directions is two rows, and nothing is lost.
func TestTwoWayTraffic(t *testing.T) {
	for name, ports := range map[string]int{"one flow": 1, "few flows": 30, "many flows": 1000} {
		t.Run(name, func(t *testing.T) {
			p := talk(2000, 1000, ports)
			p.pre = append(p.pre[:700:700], p.pre[701:]...) // POST has a packet more
			a := analyze(t, p.write(t, plainPcap))
			if a.Back == nil {
				t.Fatal("one direction")
			}
			lostAhead, lostBack := uint64(0), uint64(1)
			unknownAhead := uint64(0)
			if a.Counts.PostUnknown == 1 { // the packet taken out of PRE went ahead
				lostBack, unknownAhead = 0, 1
			}
			s := a.Summary()
			for _, c := range []struct {
				DirectionSummary
				lost, unknown uint64
				least         int64
			}{{s.DirectionSummary, lostAhead, unknownAhead, 51_000}, {*s.Back, lostBack, 0, 29_000}} {
				if c.Counts.Lost != c.lost || c.Counts.PostUnknown != c.unknown || c.Counts.Early != 0 || c.Counts.Pairs != 2000-c.lost-c.unknown {
					t.Errorf("%s to %s: %+v", c.From, c.To, c.Counts)
				}
				if *c.Latency.Min != c.least || *c.Latency.Max != c.least+990 || *c.Latency.P50 < c.least+480 || *c.Latency.P50 > c.least+500 {
					t.Errorf("%s to %s: %+v", c.From, c.To, c.Latency)
				}
			}
			// The true offset is 1 µs: the ways differ by 20 µs, half of which nobody can tell.
			if s.TwoWay == nil || s.TwoWay.AheadNs != 11_000 || s.TwoWay.BoundNs != 40_000 {
				t.Errorf("offset %+v", s.TwoWay)
			}
			if say := strings.Join(s.ClocksSay, "\n"); !strings.Contains(say, "ahead of the first's by 11µs ± 40µs") || !strings.Contains(say, "--offset -11µs") {
				t.Error(say)
			}
		})
	}
}

func TestTwoWayTrafficIsClean(t *testing.T) {
	p := talk(2000, 0, 3)
	o := p.write(t, plainPcap)
	if s := analyze(t, o).Summary(); s.Verdict != result.Clean || s.Counts.Pairs != 2000 || s.Back.Counts.Pairs != 2000 {
		t.Errorf("%s: %v", s.Verdict, s.Reasons)
	}
	// Also the other way round, and with the offset that it offers.
	o.Pre, o.Post = o.Post, o.Pre
	s := analyze(t, o).Summary()
	if s.Verdict != result.Clean || *s.Latency.Min != 30_000 || *s.Back.Latency.Min != 50_000 {
		t.Errorf("%s: %v, %+v", s.Verdict, s.Reasons, s.Latency)
	}
	o.Offset = -time.Duration(s.TwoWay.AheadNs)
	if s := analyze(t, o).Summary(); *s.Latency.Min != 40_000 || *s.Back.Latency.Min != 40_000 || s.TwoWay.AheadNs != 0 {
		t.Errorf("with an offset of %v: %+v", o.Offset, s.TwoWay)
	}
}

// Each trim is from the first packet of the file where the direction arrives.
func TestTwoWayTrafficTrimmed(t *testing.T) {
	p := talk(2000, 0, 1)
	o := p.write(t, plainPcap)
	o.Trim = 10 * time.Millisecond
	s := analyze(t, o).Summary()
	for _, d := range []DirectionSummary{s.DirectionSummary, *s.Back} {
		if d.Counts.Pairs != 2000 || d.Latency.Count < 995 || d.Latency.Count > 1005 {
			t.Errorf("%+v of %+v", d.Latency, d.Counts)
		}
	}
}

// Clocks that are further apart than the packets take: no latency is believed, and the offered
// offset puts it right.
func TestClocksFurtherApartThanThePacketsTake(t *testing.T) {
	for name, aheadNs := range map[string]int64{"ahead": 1e6, "behind": -1e6, "hours ahead": 3600e9, "hours behind": -3600e9} {
		t.Run(name, func(t *testing.T) {
			p := talk(2000, aheadNs, 3)
			o := p.write(t, plainPcap)
			a, err := Analyze(t.Context(), o)
			said := fmt.Sprint(err)
			if err == nil {
				defer a.Close()
				verdict, reasons := a.verdict()
				if said = strings.Join(reasons, "\n"); verdict == result.Clean || !strings.Contains(said, "--one-way") {
					t.Errorf("%s: %s", verdict, said)
				}
			}
			// 10 µs is half of the difference between the two ways.
			o.Offset = -time.Duration(aheadNs + 10_000)
			if !strings.Contains(said, "± 40µs") || !strings.Contains(said, fmt.Sprint("--offset ", o.Offset)) {
				t.Errorf("it does not offer %v: %s", o.Offset, said)
			}
			if s := analyze(t, o).Summary(); s.Verdict != result.Clean || s.Counts.Pairs != 2000 || s.Back.Counts.Pairs != 2000 || *s.Latency.Min != 40_000 {
				t.Errorf("%s %v: %+v", s.Verdict, s.Reasons, s.Counts)
			}
		})
	}
}

// Both directions of a device may be captured where they enter it, and again where they leave it.
func TestBothDirectionsPassPREFirst(t *testing.T) {
	var p points
	for i := range 2000 {
		at, load := int64(i)*10_000, binary.BigEndian.AppendUint32(nil, uint32(i))
		p.ahead(at, 5000+int64(i%100)*10, packet{from: "10.0.0.1:4000", to: "10.0.1.1:5001", payload: load}.frame())
		p.ahead(at+5000, 5000+int64(i%90)*10, packet{from: "10.0.1.1:5001", to: "10.0.0.1:4000", payload: load}.frame())
	}
	o := p.write(t, plainPcap)
	for _, o.OneWay = range []bool{false, true} {
		if s := analyze(t, o).Summary(); s.Verdict != result.Clean || s.Counts.Pairs != 4000 || s.Back != nil {
			t.Errorf("%s %v: %+v", s.Verdict, s.Reasons, s.Counts)
		}
	}
}
