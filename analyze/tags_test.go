package analyze

import (
	"slices"
	"testing"

	"nines.dev/nines/analyze/packetfile"
)

// TestVLANTags: a packet is found behind each kind of tag.
func TestVLANTags(t *testing.T) {
	plain := packet{from: "10.0.0.1:4000", to: "10.0.1.1:5001", payload: []byte("payload")}.frame()
	for _, tags := range []string{"", "\x81\x00\x00\x05", "\x88\xa8\x00\x05", "\x91\x00\x00\x05", "\x92\x00\x00\x05", "\x92\x00\x00\x05\x81\x00\x00\x07"} {
		frame := slices.Concat(plain[:etherAddresses], []byte(tags), plain[etherAddresses:])
		f := dissect(packetfile.Ethernet, frame)
		if from, to := f.ports(); f.etherType != etherIPv4 || f.network != 14+len(tags) || from != 4000 || to != 5001 {
			t.Errorf("behind % x: %#x at %d, ports %d and %d", tags, f.etherType, f.network, from, to)
		}
	}
}
