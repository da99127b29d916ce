package analyze

import (
	"bytes"
	"strings"
	"testing"

	"nines.dev/nines/result"
)

// segments writes a TCP stream in packets of 4 segments before the card, and single ones behind it,
// and the acknowledgements of the receiver. Some segments are sent alone.
func segments(alone func(i int) bool) (p points) {
	const segment = 1448
	for i := range 200 {
		at, seq := int64(i)*1_000_000, uint32(i)*4*segment
		data := func(n, first uint32) []byte {
			return packet{from: "10.0.0.1:4000", to: "10.0.1.1:5001", tcp: true, seq: seq + first*segment, ipID: uint16(4*uint32(i) + first), payload: bytes.Repeat([]byte{byte(i)}, int(n)*segment)}.frame()
		}
		for first := range uint32(4) {
			p.post = append(p.post, taken{ns: at + 5000 + int64(first)*1000, data: data(1, first)})
			if alone(i) {
				p.pre = append(p.pre, taken{ns: at + int64(first)*1000, data: data(1, first)})
			}
		}
		if !alone(i) {
			p.pre = append(p.pre, taken{ns: at, data: data(4, 0)})
		}
		p.back(at+20_000, 5000, packet{from: "10.0.1.1:5001", to: "10.0.0.1:4000", tcp: true, seq: 1, ack: seq, ipID: uint16(i)}.frame())
	}
	return p
}

func TestSegmentationOffload(t *testing.T) {
	p := segments(func(i int) bool { return i%2 == 0 })
	s := analyze(t, p.write(t, plainPcap)).Summary()
	if n := s.Counts; n.Pairs != 400 || n.Lost != 0 || n.PreSegmented != 100 || n.PostSegmented != 400 || n.PostUnknown != 0 || s.Verdict != result.Noisy {
		t.Errorf("%s %v: %+v", s.Verdict, s.Reasons, n)
	}
	if n := s.Back.Counts; n.Pairs != 200 || n.Lost != 0 {
		t.Errorf("acknowledgements: %+v", n)
	}
	if say := s.Reasons[0]; !strings.Contains(say, "ethtool -K DEV tso off gso off gro off") || !strings.Contains(say, "5,792 bytes") || !strings.Contains(say, "1,448 bytes") {
		t.Error(say)
	}
	if len(s.Segmented) != 1 || s.Segmented[0].FromPackets != 500 || s.Segmented[0].ToPackets != 800 {
		t.Errorf("%+v", s.Segmented)
	}
}

// Not a packet is in both captures.
func TestSegmentationOffloadOfAll(t *testing.T) {
	p := segments(func(int) bool { return false })
	p.pre, p.post = onlyLong(p.pre), onlyLong(p.post)
	if _, err := Analyze(t.Context(), p.write(t, plainPcap)); err == nil || !strings.Contains(err.Error(), "ethtool -K") {
		t.Error(err)
	}
}

func onlyLong(all []taken) (long []taken) {
	for _, f := range all {
		if len(f.data) > 100 {
			long = append(long, f)
		}
	}
	return long
}
