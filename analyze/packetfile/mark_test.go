package packetfile_test

import (
	"fmt"
	"testing"

	"nines.dev/nines/analyze/packetfile"
)

// TestSkipTo reads single packets again: of a file with another one appended, in another byte order and resolution.
func TestSkipTo(t *testing.T) {
	const packets = 10_000
	first, second := random(5, packets, 100, 1), random(6, packets, 100, 1)
	data := encode(t, packetfile.Layout{Format: packetfile.Pcap}, first)
	data = append(data, encode(t, packetfile.Layout{Format: packetfile.Pcap, BigEndian: true, Interfaces: []packetfile.Interface{{LinkType: packetfile.Ethernet, Resolution: packetfile.Microseconds}}}, second)...)
	for name, stored := range map[string][]byte{"plain": data, "gzip": compressGzip(data)} {
		r, all := read(t, file(t, "x.pcap", stored))
		if len(all) != 2*packets || r.Damage() != nil {
			t.Fatalf("%s: %d packets, %v", name, len(all), r.Damage())
		}
		if err := r.Rewind(); err != nil {
			t.Fatal(err)
		}
		batch, read, looked := make([]packetfile.Packet, 64), 0, 0
		for number := uint64(1); number <= 2*packets; number += 3001 {
			if err := r.SkipTo(number); err != nil {
				t.Fatal(err)
			}
			for found := false; !found; {
				n, err := r.NextBatch(batch)
				if err != nil {
					t.Fatalf("%s: packet %d: %v", name, number, err)
				}
				from := batch[0].Number - 1
				if from >= number {
					t.Fatalf("%s: from packet %d, behind %d", name, from+1, number)
				}
				samePackets(t, fmt.Sprintf("%s: from packet %d", name, from+1), all[from:from+uint64(n)], batch[:n])
				found = from+uint64(n) >= number
				read += n
			}
			looked++
		}
		if all := 2 * packets * 9 / 10; name == "plain" && read > all/2 || name == "gzip" && read < all {
			t.Errorf("%s: %d packets were read for %d of them", name, read, looked)
		}
	}
}
