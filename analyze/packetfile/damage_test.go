package packetfile_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"nines.dev/nines/analyze/packetfile"
)

// little builds little-endian files byte by byte.
func little() *ng { return &ng{order: binary.LittleEndian} }

// pcapWith is a pcap file with ten packets of 60 bytes, followed by then.
func pcapWith(t *testing.T, then ...[]byte) []byte {
	packets := random(1, 10, 0, 1)
	for i := range packets {
		packets[i].Data, packets[i].Length = make([]byte, 60), 60
	}
	return append(encode(t, packetfile.Layout{Format: packetfile.Pcap}, packets), bytes.Join(then, nil)...)
}

const (
	pcapHead   = 24
	pcapRecord = 16 + 60
)

// pcapngWith is a pcapng file with an interface and one packet, followed by then.
func pcapngWith(then func(*ng)) []byte {
	b := little()
	b.section()
	b.anInterface(1, 0)
	b.enhanced(0, 1, []byte("packet"), 6)
	then(b)
	return b.data
}

// TestDamage damages files: packets before the damage are read, and the loss is reported.
func TestDamage(t *testing.T) {
	whole := pcapWith(t)
	big := encode(t, packetfile.Layout{Format: packetfile.Pcap}, random(6, 5000, 1500, 1))
	bigZstd, bigGzip := compressZstd(t, big), compressGzip(big)
	flip := func(data []byte, at int) []byte {
		data = bytes.Clone(data)
		data[at] ^= 0xff
		return data
	}
	head := func(seconds, fraction, kept, length uint32) []byte {
		return little().u32(seconds, fraction, kept, length)
	}
	ngBlock := func(kind, length uint32, rest ...byte) []byte {
		return pcapngWith(func(b *ng) { b.data = append(append(b.data, b.u32(kind, length)...), rest...) })
	}
	ngLen := int64(len(pcapngWith(func(*ng) {})))
	const many = math.MaxUint64 // some packets, not all
	for name, c := range map[string]struct {
		file    string
		data    []byte
		packets uint64
		offset  int64 // -1 for any
		lost    int64
		say     string
	}{
		"pcap cut in a packet":   {"a.pcap", whole[:len(whole)-7], 9, pcapHead + 9*pcapRecord, pcapRecord - 7, "truncated in packet 10 (69 of 76 bytes)"},
		"pcap cut in a head":     {"a.pcap", whole[:len(whole)-70], 9, pcapHead + 9*pcapRecord, 6, "header of packet 10 (6 of 16 bytes)"},
		"pcap with a huge one":   {"a.pcap", pcapWith(t, head(1, 2, 262_145, 262_145), make([]byte, 300_000)), 10, int64(len(whole)), 300_016, "262,145 bytes, more than any"},
		"pcap with 4 GiB":        {"a.pcap", pcapWith(t, head(1, 2, math.MaxUint32, math.MaxUint32)), 10, int64(len(whole)), 16, "4,294,967,295 bytes"},
		"pcap with 2 GiB":        {"a.pcap", pcapWith(t, head(1, 2, 1<<31, 60)), 10, int64(len(whole)), 16, "2,147,483,648 bytes"},
		"pcap with zeros":        {"a.pcap", pcapWith(t, make([]byte, 1000)), 10, int64(len(whole)), 1000, "only zeros"},
		"pcap.gz cut":            {"a", bigGzip[:len(bigGzip)/2], many, -1, -1, "gzip data are truncated"},
		"pcap.zst cut":           {"a", bigZstd[:len(bigZstd)/2], many, -1, -1, "zstd data are truncated"},
		"pcap.gz, wrong CRC":     {"a", flip(bigGzip, len(bigGzip)-5), 5000, int64(len(big)), -1, "gzip data are damaged"},
		"pcap.zst, wrong CRC":    {"a", flip(bigZstd, len(bigZstd)-1), many, -1, -1, "zstd data are damaged"},
		"pcap.zst and rubbish":   {"a", append(bytes.Clone(bigZstd), "rubbish, rubbish"...), 5000, int64(len(big)), -1, "zstd data are damaged"},
		"cut pcap, whole gz":     {"a", compressGzip(whole[:len(whole)-7]), 9, pcapHead + 9*pcapRecord, -1, "truncated in packet 10"},
		"pcapng cut in a head":   {"a", ngBlock(6, 40)[:ngLen+5], 1, ngLen, 5, "header of a block (5 of 12 bytes)"},
		"pcapng cut":             {"a", ngBlock(6, 40, 1, 2, 3, 4, 5), 1, ngLen, 13, "a block of type 0x6 (13 of 40 bytes)"},
		"pcapng not of 4":        {"a", ngBlock(6, 41, make([]byte, 40)...), 1, ngLen, 48, "41 bytes, which is not a multiple of 4"},
		"pcapng of 0":            {"a", ngBlock(6, 0, make([]byte, 40)...), 1, ngLen, 48, "0 bytes, which is not"},
		"pcapng of 8":            {"a", ngBlock(9, 8, make([]byte, 40)...), 1, ngLen, 48, "8 bytes, which is not"},
		"pcapng of 4 GiB":        {"a", ngBlock(6, math.MaxUint32-3, make([]byte, 40)...), 1, ngLen, 48, "4,294,967,292 bytes, more than any"},
		"pcapng, unknown, 4 GiB": {"a", ngBlock(99, math.MaxUint32-3, make([]byte, 40)...), 1, ngLen, 48, "a block of type 0x63 of 4,294,967,292 bytes"},
		"pcapng, zeros":          {"a", append(pcapngWith(func(*ng) {}), make([]byte, 100)...), 1, ngLen, 100, "type 0x0 claims to have 0 bytes"},
		"pcapng, lengths differ": {"a", ngBlock(6, 36, append(make([]byte, 24), 40, 0, 0, 0)...), 1, ngLen, 36, "packet 2 has two lengths that differ"},
		"pcapng, no interface": {"a", pcapngWith(func(b *ng) { b.enhanced(1, 1, []byte("x"), 1) }), 1, ngLen, 48,
			"packet 2 is of interface 1, which the section has not described (it has 1)"},
		"pcapng, kept too much": {"a", pcapngWith(func(b *ng) { b.block(6, b.u32(0, 0, 1, 13, 13, 1, 2, 3)) }), 1, ngLen, 44, "packet 2 claims to have 13 bytes"},
		"pcapng, too short":     {"a", pcapngWith(func(b *ng) { b.block(6, b.u32(0)) }), 1, ngLen, 16, "packet 2 is in a block of 16 bytes, too short"},
		"pcapng, far future":    {"a", pcapngWith(func(b *ng) { b.enhanced(0, math.MaxUint64, []byte("x"), 1) }), 1, ngLen, 48, "packet 2 has a time beyond the year 2262"},
		"pcapng, bad section":   {"a", pcapngWith(func(b *ng) { b.block(0x0a0d0d0a, make([]byte, 16)) }), 1, ngLen, 28, "a section without a byte order"},
		"pcapng, section 2.0": {"a", pcapngWith(func(b *ng) { b.block(0x0a0d0d0a, append(b.u32(0x1a2b3c4d), 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }), 1, ngLen, 28,
			"a section of version 2.0"},
		"pcapng, finest":      {"a", pcapngWith(func(b *ng) { b.anInterface(1, 0, b.option(9, []byte{20})) }), 1, ngLen, 28, "finer than any clock (if_tsresol 0x14)"},
		"pcapng, finest of 2": {"a", pcapngWith(func(b *ng) { b.anInterface(1, 0, b.option(9, []byte{0xff})) }), 1, ngLen, 28, "finer than any clock (if_tsresol 0xff)"},
		"pcapng, far off": {"a", pcapngWith(func(b *ng) { b.anInterface(1, 0, b.option(14, []byte{0, 0, 0, 0, 0, 0, 0, 0x80})) }), 1, ngLen, 32,
			"off by -9223372036854775808 s"},
		"mscap cut":   {"a.mscap", make12(3)[:31], 2, 24, 7, "record 3 (7 of 12 bytes)"},
		"mscap zeros": {"a.mscap", append(make12(3), make([]byte, 1200)...), 3, 36, 1200, "record 4 and the next contain only zeros"},
	} {
		t.Run(name, func(t *testing.T) {
			r, packets := read(t, file(t, c.file, c.data))
			d := r.Damage()
			switch {
			case d == nil:
				t.Fatalf("no damage found; %d packets", len(packets))
			case d.Packets != uint64(len(packets)), c.packets != many && d.Packets != c.packets:
				t.Errorf("%d packets, the damage says %d, want %d", len(packets), d.Packets, c.packets)
			case c.packets == many && (d.Packets < 500 || d.Packets > 5000):
				t.Errorf("%d packets of a part of the file", d.Packets)
			case c.offset >= 0 && d.Offset != c.offset, d.LostBytes != c.lost:
				t.Errorf("offset %d, %d lost, want %d, %d", d.Offset, d.LostBytes, c.offset, c.lost)
			}
			if !strings.Contains(d.String(), c.say) {
				t.Errorf("says %q, want %q in it", d, c.say)
			}
			if err := r.Rewind(); err != nil {
				t.Fatal(err)
			}
			if again := drain(t, r); len(again) != len(packets) || r.Damage() == nil || *r.Damage() != *d {
				t.Errorf("the second time: %d packets, %v", len(again), r.Damage())
			}
		})
	}
}

// make12 returns so many MoonSniff records.
func make12(records int) []byte {
	var data []byte
	for i := range records {
		data = binary.LittleEndian.AppendUint64(data, uint64(i)*1000)
		data = binary.LittleEndian.AppendUint32(data, uint32(i))
	}
	return data
}

// TestTolerated has files that are odd but undamaged.
func TestTolerated(t *testing.T) {
	z := func(data []byte) []byte { return compressZstd(t, data) }
	whole := pcapWith(t)
	half := len(whole) / 2
	snap := bytes.Clone(whole)
	snap[16], snap[17], snap[18] = 40, 0, 0 // a snap length smaller than the packets
	fcs := bytes.Clone(whole)
	fcs[23] = 0x24 // 2 × 2 bytes of FCS
	shorter := bytes.Clone(whole)
	shorter[pcapHead+12] = 10 // the length smaller than what was kept
	for name, c := range map[string]struct {
		data    []byte
		packets int
	}{
		"head only":                   {whole[:pcapHead], 0},
		"head only, gz":               {compressGzip(whole[:pcapHead]), 0},
		"pcapng without an interface": {func() []byte { b := little(); b.section(); return b.data }(), 0},
		"two members of gzip":         {append(compressGzip(whole[:half]), compressGzip(whole[half:])...), 10},
		"two frames of zstd":          {append(z(whole[:half]), z(whole[half:])...), 10},
		"skippable frame, then zstd":  {append([]byte{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3}, z(whole)...), 10},
		"snap length too small":       {snap, 10},
		"FCS in the link type":        {fcs, 10},
		"length smaller than kept":    {shorter, 10},
		"a packet of no bytes":        {pcapWith(t, little().u32(1, 0, 0, 0)), 11},
		"mscap from 0":                {nil, 4},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, "x", c.data)
			if c.data == nil {
				path = file(t, "x.mscap", append(make([]byte, 12), make12(4)[12:]...))
			}
			r, packets := read(t, path)
			if len(packets) != c.packets || r.Damage() != nil {
				t.Errorf("%d packets, want %d; damage %v", len(packets), c.packets, r.Damage())
			}
			if i := r.Info(); len(i.Interfaces) > 0 && c.data != nil && i.LinkType != packetfile.Ethernet {
				t.Errorf("link type %v", i.LinkType)
			}
		})
	}
}

// TestSparse: a sparse file of 100 GB is refused at once, even if it begins well.
func TestSparse(t *testing.T) {
	sparse := func(name string, head []byte) string {
		path := file(t, name, head)
		if err := os.Truncate(path, 100e9); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, name := range []string{"a.pcap", "a.mscap", "a"} {
		if _, err := packetfile.Open(sparse(name, nil)); err == nil || !strings.Contains(err.Error(), "only zeros") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, head := range map[string][]byte{"a.pcap": pcapWith(t), "b": pcapngWith(func(*ng) {}), "c.mscap": make12(5)} {
		r, packets := read(t, sparse(name, head))
		done, size := r.Progress()
		if len(packets) == 0 || r.Damage() == nil || r.Damage().LostBytes != 100e9-int64(len(head)) || done > 10e6 || size != 100e9 {
			t.Errorf("%s: %d packets, %v, read %d of %d", name, len(packets), r.Damage(), done, size)
		}
	}
}

// TestZstdWindow limits the memory that a file may demand to 128 MiB.
func TestZstdWindow(t *testing.T) {
	for _, c := range []struct {
		window int
		fits   bool
	}{{128 << 20, true}, {256 << 20, false}} {
		var out bytes.Buffer
		z, err := zstd.NewWriter(&out, zstd.WithWindowSize(c.window), zstd.WithSingleSegment(false), zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		// The frame header shows its window only if it is written in pieces.
		data := pcapWith(t)
		_, _ = z.Write(data[:100])
		_ = z.Flush()
		_, _ = z.Write(data[100:])
		_ = z.Close()
		r, err := packetfile.Open(file(t, "x", out.Bytes()))
		if (err == nil) != c.fits {
			t.Errorf("window of %d: %v", c.window, err)
		}
		if err == nil {
			_ = r.Close()
		} else if !strings.Contains(err.Error(), "--long=31") {
			t.Errorf("the error names no remedy: %v", err)
		}
	}
}

// TestFileThatShrinks truncates a file while it is read.
func TestFileThatShrinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	data := encode(t, packetfile.Layout{Format: packetfile.Pcap}, random(1, 20_000, 1500, 1))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := packetfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.Truncate(path, int64(len(data)/2)); err != nil {
		t.Fatal(err)
	}
	packets := drain(t, r)
	if len(packets) < 5000 || len(packets) > 15_000 || r.Damage() == nil {
		t.Errorf("%d packets, damage %v", len(packets), r.Damage())
	}
}
