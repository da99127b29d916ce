package packetfile_test

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/test/labtest"
)

// The published captures have 300,000 packets each, of 30 s at 10 kpkt/s.
func TestPublishedCaptures(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(labtest.PublishedData(t), "low-latency", "*", "*.pcap.zst"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for _, file := range files {
		r, err := packetfile.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		info := r.Info()
		if info.Format != packetfile.Pcap || info.Compression != packetfile.Zstd || info.Resolution != packetfile.Nanoseconds || info.LinkType != packetfile.Ethernet {
			t.Errorf("%s: Info = %+v", file, info)
		}
		for {
			p, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Data) < 60 || p.TimeNs <= 0 {
				t.Fatalf("%s: %+v", file, p)
			}
		}
		if seen := r.Seen(); seen.Packets != 300_000 || seen.Backwards != 0 || r.Damage() != nil {
			t.Errorf("%s: %+v, damage %v", file, seen, r.Damage())
		}
	}
}
