package analyze

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/result"
)

// A path faster than the steps of the times: nothing is lost, and the mean is right on average.
func TestCoarseTimes(t *testing.T) {
	layout := func(r packetfile.Resolution) packetfile.Layout {
		return packetfile.Layout{Format: packetfile.Pcapng, Interfaces: []packetfile.Interface{{LinkType: packetfile.Ethernet, Resolution: r}}}
	}
	const ms, us, ns = packetfile.Resolution(1e3), packetfile.Microseconds, packetfile.Nanoseconds
	for _, c := range []struct {
		pre, post packetfile.Resolution
		slowestNs int64
		tickNs    int64
		offset    time.Duration
	}{
		{us, us, 900, 1e3, 0}, {us, us, 900, 1e3, 777}, {ns, us, 900, 1e3, 0}, {us, ns, 900, 1e3, 0}, {ns, us, 900, 1e3, 333}, {us, ns, 900, 1e3, 333},
		{ms, ms, 90_000, 1e6, 0}, {ms, us, 90_000, 1e6, 0}, {ns, ns, 900, 1, 0},
	} {
		t.Run(fmt.Sprintf("%v, %v, %v", c.pre, c.post, c.offset), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var p points
			sum := int64(0)
			const packets = 2000
			for i := range int64(packets) {
				latency := c.slowestNs/9 + r.Int64N(c.slowestNs*8/9)
				sum += latency
				data := packet{from: "10.0.0.1:1", to: "10.0.0.2:2", payload: binary.BigEndian.AppendUint32(nil, uint32(i))}.frame()
				p.ahead(i*1_000_000+r.Int64N(1_000_000), latency-int64(c.offset), data)
			}
			a := analyze(t, Options{Pre: writeCapture(t, "pre", layout(c.pre), p.pre), Post: writeCapture(t, "post", layout(c.post), p.post), Offset: c.offset})
			s := a.Summary()
			if s.Counts.Pairs != packets || s.Counts.Lost != 0 || s.Counts.Early != 0 || s.Verdict != result.Clean || s.ResolutionNs != c.tickNs {
				t.Errorf("%s %v: %+v in steps of %d", s.Verdict, s.Reasons, s.Counts, s.ResolutionNs)
			}
			// The mean has a standard error of half a step by the root of the packets. An offset that is
			// no multiple of the step makes differences of less than a step below zero, which count as zero.
			bound := 5 * float64(c.tickNs) / 2 / math.Sqrt(packets)
			if c.pre == c.post && c.offset != 0 {
				bound = float64(c.tickNs)
			}
			if mean, want := *s.Latency.Mean, float64(sum)/packets; math.Abs(mean-want) > bound {
				t.Errorf("mean %.0f, want %.0f", mean, want)
			}
		})
	}
}

// Coarse times that are all equal say no more than copies do.
func TestOnlyEqualTimes(t *testing.T) {
	var p points
	for i := range int64(50) {
		p.ahead(i*1000, 1, packet{from: "10.0.0.1:1", to: "10.0.0.2:2", payload: binary.BigEndian.AppendUint32(nil, uint32(i))}.frame())
	}
	layout := packetfile.Layout{Format: packetfile.Pcap, Interfaces: []packetfile.Interface{{LinkType: packetfile.Ethernet, Resolution: packetfile.Microseconds}}}
	s := analyze(t, p.write(t, layout)).Summary()
	if s.Verdict != result.Noisy || s.Counts.Pairs != 50 || !strings.Contains(s.Reasons[0], "copies of one capture") {
		t.Errorf("%s %v: %+v", s.Verdict, s.Reasons, s.Counts)
	}
}
