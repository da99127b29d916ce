package packetfile_test

import (
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"nines.dev/nines/analyze/packetfile"
)

// numbered returns numbered packets of 60 bytes, one per microsecond.
func numbered(count int, idOnly bool) []packetfile.Packet {
	all := make([]packetfile.Packet, count)
	for i := range all {
		data := make([]byte, 60)
		data[12], data[14] = 8, 0x45
		binary.LittleEndian.PutUint32(data[42:], uint32(i))
		if idOnly {
			data = data[42:46]
		}
		all[i] = packetfile.Packet{TimeNs: 1_700_000_000e9 + int64(i)*1000 + int64(i*i%97), Data: data}
	}
	return all
}

// BenchmarkRead measures one core's time for a packet of 60 bytes.
func BenchmarkRead(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, name := range []string{"pcap", "pcap.zst", "pcap.gz", "pcapng", "mscap"} {
		b.Run(name, func(b *testing.B) {
			format, compression, _ := strings.Cut(name, ".")
			data := encode(b, packetfile.Layout{Format: packetfile.Format(format)}, numbered(500_000, format == "mscap"))
			switch compression {
			case "zst":
				data = compressZstd(b, data)
			case "gz":
				data = compressGzip(data)
			}
			r, err := packetfile.Open(file(b, "x."+name, data))
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
