package packetfile_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"

	"nines.dev/nines/analyze/packetfile"
)

// bomb writes a capture of equal packets, compressed to almost nothing.
func bomb(t *testing.T, megabytes int) []byte {
	t.Helper()
	packets := random(1, 10_000, 0, 1)
	for i := range packets {
		packets[i].TimeNs, packets[i].Data, packets[i].Length = 1e18, make([]byte, 1000), 1000
	}
	capture := encode(t, packetfile.Layout{Format: packetfile.Pcap}, packets)
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(capture); err != nil {
		t.Fatal(err)
	}
	for range megabytes / 10 {
		if _, err := z.Write(capture[pcapHead:]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestACompressedBombIsCutShort: a file that grows to thousands of times its size is read up to a
// limit; the error names it, and says how to read the whole file.
func TestACompressedBombIsCutShort(t *testing.T) {
	data := bomb(t, 200)
	r, err := packetfile.Open(file(t, "x.pcap.zst", data))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read, batch := 0, make([]packetfile.Packet, 256)
	for {
		n, err := r.NextBatch(batch)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range batch[:n] {
			read += 16 + len(p.Data)
		}
	}
	if limit := max(64<<20, 1000*len(data)); read > limit || read < limit/2 {
		t.Errorf("%d bytes were read of %d compressed ones", read, len(data))
	}
	if d := r.Damage(); d == nil || !bytes.Contains([]byte(d.String()), []byte("more than 1000 times its size")) || !bytes.Contains([]byte(d.String()), []byte("zstd -d")) {
		t.Errorf("the damage is %v", d)
	}
}

// TestWhatCompressesWellIsRead: a small capture may be as regular as it likes.
func TestWhatCompressesWellIsRead(t *testing.T) {
	r, packets := read(t, file(t, "x.pcap.zst", bomb(t, 40)))
	if len(packets) != 50_000 || r.Damage() != nil {
		t.Errorf("%d packets, damage %v", len(packets), r.Damage())
	}
}
