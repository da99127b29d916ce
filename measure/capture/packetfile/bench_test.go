package packetfile_test

import (
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"testing"

	"nines.dev/nines/measure/capture/packetfile"
	"nines.dev/nines/measure/capture/synthetic"
)

// BenchmarkRead is one core's time for a packet of 60 bytes.
func BenchmarkRead(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, name := range []string{"pcap", "pcap.zst", "pcap.gz", "pcapng", "mscap"} {
		b.Run(name, func(b *testing.B) {
			const packets = 1_000_000
			path := filepath.Join(b.TempDir(), "x."+name)
			layout := packetfile.Layout{Format: packetfile.Format(name)}
			if filepath.Ext(name) != "" {
				layout.Format = packetfile.Pcap
			}
			discarded := packetfile.Layout{Format: packetfile.MoonSniff}
			if _, err := synthetic.WritePair(synthetic.Config{Packets: packets, Poisson: true}, path, layout, "/dev/null", discarded); err != nil {
				b.Fatal(err)
			}
			r, err := packetfile.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			batch := make([]packetfile.Packet, 256)
			sum, n := 0, 0
			for b.ResetTimer(); n < b.N; {
				got, err := r.NextBatch(batch)
				if errors.Is(err, io.EOF) {
					err = r.Rewind()
				}
				if err != nil {
					b.Fatal(err)
				}
				for _, p := range batch[:got] {
					sum += int(p.Data[3])
				}
				n += got
			}
			_ = sum
		})
	}
}
