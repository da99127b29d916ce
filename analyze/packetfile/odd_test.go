package packetfile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/exit"
)

const start = 1_700_000_000

// odd makes a pcap file by hand: whatever the magic number says, fractions of a second are as given.
func odd(magic uint32, link uint32, fractions ...uint32) []byte {
	data := binary.LittleEndian.AppendUint32(nil, magic)
	data = append(data, 2, 0, 4, 0)
	for _, v := range []uint32{0, 0, 262144, link} {
		data = binary.LittleEndian.AppendUint32(data, v)
	}
	for i, f := range fractions {
		for _, v := range []uint32{start + uint32(i), f, 4, 60} {
			data = binary.LittleEndian.AppendUint32(data, v)
		}
		data = append(data, "data"...)
	}
	return data
}

const (
	micro = 0xa1b2c3d4
	nano  = 0xa1b23c4d
)

// spread are fractions of a second, one packet a second.
func spread(packets int, most uint32) (fractions []uint32) {
	for i := range packets {
		fractions = append(fractions, uint32(uint64(i)*977*uint64(most)/1000%uint64(most)))
	}
	return fractions
}

func say(remarks []packetfile.Remark) (all string, noisy bool) {
	for _, r := range remarks {
		all += r.Text + "\n"
		noisy = noisy || r.Noisy
	}
	return all, noisy
}

// TestNanosecondsUnderMicroseconds: a known fault of some tools. The times are right, and so is what
// is said of them.
func TestNanosecondsUnderMicroseconds(t *testing.T) {
	for name, c := range map[string]struct {
		magic      uint32
		fractions  []uint32
		unitNs     int64
		resolution packetfile.Resolution
		say        string
		noisy      bool
	}{
		"microseconds":       {micro, spread(100, 1e6), 1000, packetfile.Microseconds, "", false},
		"nanoseconds":        {nano, spread(100, 1e9), 1, packetfile.Nanoseconds, "", false},
		"mislabelled":        {micro, spread(100, 1e9), 1, packetfile.Nanoseconds, "read as such", false},
		"one packet":         {micro, []uint32{34_951_000}, 1, packetfile.Nanoseconds, "read as such", false},
		"a carry":            {micro, []uint32{5, 1_000_000, 1_200_000}, 1000, packetfile.Microseconds, "", false},
		"one wrong":          {micro, append(spread(100, 1e6), 5_000_000), 1000, packetfile.Microseconds, "1 packets have 2000000 microseconds or more", true},
		"reverse":            {nano, spread(100, 1e6), 1, packetfile.Nanoseconds, "latencies 1000 times longer", true},
		"reverse, too short": {nano, spread(2, 1e6), 1, packetfile.Nanoseconds, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			r, got := read(t, file(t, "x", odd(c.magic, 1, c.fractions...)))
			for i, p := range got {
				if want := (start+int64(i))*1e9 + int64(c.fractions[i])*c.unitNs; p.TimeNs != want {
					t.Fatalf("packet %d has time %d, want %d", i, p.TimeNs, want)
				}
			}
			text, noisy := say(r.Remarks())
			if len(got) != len(c.fractions) || r.Info().Resolution != c.resolution || noisy != c.noisy || !strings.Contains(text, c.say) || (text != "") != (c.say != "") {
				t.Errorf("%d packets in steps of %v; noisy %v: %s", len(got), r.Info().Resolution, noisy, text)
			}
		})
	}
}

// TestNanosecondsThatBeginLate: what was read before is wrong, and no result comes of it.
func TestNanosecondsThatBeginLate(t *testing.T) {
	r, err := packetfile.Open(file(t, "x", odd(micro, 1, append(spread(10_000, 1e6), spread(20_000, 1e9)...)...)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for err == nil {
		_, err = r.Next()
	}
	if errors.Is(err, io.EOF) || exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "write 4d 3c b2 a1 over its first bytes") {
		t.Errorf("it ends with %v", err)
	}
}

// TestAppendedFiles: what cat makes of several files is read whole, with each header's resolution and
// link type.
func TestAppendedFiles(t *testing.T) {
	first, second, third := odd(micro, 1, spread(3000, 1e6)...), odd(nano, 101, spread(3000, 1e9)...), odd(micro, 1, spread(5, 1e6)...)
	swapped := encode(t, packetfile.Layout{Format: packetfile.Pcap, BigEndian: true}, random(1, 10, 50, 1))
	whole := slices.Concat(first, second, odd(nano, 1), third, swapped)
	for name, data := range map[string][]byte{
		"plain": whole, "gzip members": slices.Concat(compressGzip(first), compressGzip(second), compressGzip(odd(nano, 1)), compressGzip(third), compressGzip(swapped)),
		"zstd frames": slices.Concat(compressZstd(t, first), compressZstd(t, slices.Concat(second, odd(nano, 1), third, swapped))),
	} {
		r, got := read(t, file(t, "x", data))
		if r.Damage() != nil || len(got) != 6015 {
			t.Fatalf("%s: %d packets, %v", name, len(got), r.Damage())
		}
		interfaces := r.Info().Interfaces
		for i, want := range map[int]packetfile.Interface{
			0:    {LinkType: packetfile.Ethernet, Resolution: packetfile.Microseconds, SnapLength: 262144},
			3000: {LinkType: packetfile.Raw, Resolution: packetfile.Nanoseconds, SnapLength: 262144},
			6000: {LinkType: packetfile.Ethernet, Resolution: packetfile.Microseconds, SnapLength: 262144},
			6005: {LinkType: packetfile.Ethernet, Resolution: packetfile.Nanoseconds, SnapLength: 262144},
		} {
			if got := interfaces[got[i].Interface]; got != want {
				t.Errorf("%s: packet %d is of %+v, want %+v", name, i, got, want)
			}
		}
		if want := (start+1)*1e9 + int64(spread(2, 1e9)[1]); got[3001].TimeNs != want {
			t.Errorf("%s: a time of the second file is %d, want %d", name, got[3001].TimeNs, want)
		}
	}
	version3 := odd(nano, 1)
	version3[4] = 3
	r, got := read(t, file(t, "x", append(slices.Clone(third), version3...)))
	if d := r.Damage(); len(got) != 5 || d == nil || !strings.Contains(d.Reason, "version 3.4") {
		t.Errorf("an appended file of another version: %d packets, %v", len(got), d)
	}
}

// TestAPacketOfNothing: a record without bytes is a packet, if it has a time.
func TestAPacketOfNothing(t *testing.T) {
	data := odd(micro, 1, 1, 2)
	empty := slices.Concat(odd(micro, 1)[:0], binary.LittleEndian.AppendUint32(nil, start+9), make([]byte, 12))
	r, got := read(t, file(t, "x", append(data, empty...)))
	if len(got) != 3 || got[2].TimeNs != (start+9)*1e9 || len(got[2].Data) != 0 || r.Damage() != nil {
		t.Errorf("%v, %v", got, r.Damage())
	}
}

// TestLossesThatTheToolReports: in the statistics, with an enhanced packet, or in an obsolete one;
// in both ways they are the same losses.
func TestLossesThatTheToolReports(t *testing.T) {
	u64 := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	for name, c := range map[string]struct {
		write func(b *ng)
		want  uint64
	}{
		"none": {func(b *ng) { b.enhanced(0, 1, []byte("a"), 1) }, 0},
		"statistics": {func(b *ng) {
			b.block(5, slices.Concat(b.u32(0, 0, 0), b.option(5, u64(7)), b.option(7, u64(3)), b.u32(0)))
		}, 10},
		"later statistics": {func(b *ng) {
			b.block(5, slices.Concat(b.u32(0, 0, 0), b.option(5, u64(7)), b.u32(0)))
			b.block(5, slices.Concat(b.u32(0, 0, 0), b.option(5, u64(9)), b.u32(0)))
		}, 9},
		"epb_dropcount": {func(b *ng) {
			for range 3 {
				b.block(6, slices.Concat(b.u32(0, 0, 1, 1, 1), []byte("a\x00\x00\x00"), b.option(2, b.u32(1)), b.option(4, u64(5)), b.u32(0)))
			}
		}, 15},
		"both": {func(b *ng) {
			b.block(6, slices.Concat(b.u32(0, 0, 1, 1, 1), []byte("a\x00\x00\x00"), b.option(4, u64(5)), b.u32(0)))
			b.block(5, slices.Concat(b.u32(0, 0, 0), b.option(5, u64(4)), b.u32(0)))
		}, 5},
		"obsolete": {func(b *ng) {
			b.block(2, slices.Concat(b.u16(0, 6), b.u32(0, 1, 1, 1), []byte("a\x00\x00\x00")))
			b.block(2, slices.Concat(b.u16(0, 0xffff), b.u32(0, 1, 1, 1), []byte("a\x00\x00\x00")))
		}, 6},
	} {
		b := &ng{order: binary.LittleEndian}
		b.section()
		b.anInterface(1, 0)
		c.write(b)
		r, _ := read(t, file(t, "x", b.data))
		if got := r.Info().Interfaces[0].Dropped; got != c.want || r.Damage() != nil {
			t.Errorf("%s: %d packets lost, want %d; %v", name, got, c.want, r.Damage())
		}
	}
}

// TestWhatAnInterfaceSays: the times of its capture, and the FCS at the end of its packets.
func TestWhatAnInterfaceSays(t *testing.T) {
	b := &ng{order: binary.LittleEndian}
	b.section()
	b.anInterface(1, 0, b.option(13, []byte{32}), b.u32(0))
	b.block(5, slices.Concat(b.u32(0, 0, 9), b.option(2, b.u32(0, 5)), b.option(3, b.u32(0, 8)), b.u32(0)))
	r, _ := read(t, file(t, "x", b.data))
	want := packetfile.Interface{LinkType: packetfile.Ethernet, Resolution: packetfile.Microseconds, FCSBytes: 4, StartNs: 5000, EndNs: 8000}
	if got := r.Info().Interfaces[0]; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r, _ = read(t, file(t, "x", odd(nano, 2<<28|1<<26|1)))
	if i := r.Info().Interfaces[0]; i.FCSBytes != 4 || i.LinkType != packetfile.Ethernet {
		t.Errorf("pcap: %+v", i)
	}
}

// TestPacketsWithoutATime: they are counted, and the times of the others are as if they were not there.
func TestPacketsWithoutATime(t *testing.T) {
	b := &ng{order: binary.LittleEndian}
	b.section()
	b.anInterface(1, 0)
	simple := func() { b.block(3, slices.Concat(b.u32(4), []byte("none"))) }
	simple()
	b.enhanced(0, 5, []byte("a"), 1)
	simple()
	b.enhanced(0, 9, []byte("b"), 1)
	simple()
	r, got := read(t, file(t, "x", b.data))
	want := packetfile.Seen{Packets: 5, Untimed: 3, FirstNs: 5000, LastNs: 9000}
	if seen := r.Seen(); seen != want {
		t.Errorf("%+v, want %+v", seen, want)
	}
	for i, p := range got {
		if (p.TimeNs == packetfile.NoTime) != bytes.Equal(p.Data, []byte("none")) {
			t.Errorf("packet %d has time %d", i, p.TimeNs)
		}
	}
}
