package packetfile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"nines.dev/nines/analyze/packetfile"
)

// layouts returns all that can be written except MoonSniff's.
func layouts() map[string]packetfile.Layout {
	all := map[string]packetfile.Layout{}
	for _, big := range []bool{false, true} {
		for _, resolution := range []packetfile.Resolution{packetfile.Microseconds, packetfile.Nanoseconds} {
			one := packetfile.Interface{LinkType: packetfile.Ethernet, Resolution: resolution}
			all[fmt.Sprintf("pcap %v big=%v", resolution, big)] = packetfile.Layout{Format: packetfile.Pcap, BigEndian: big, Interfaces: []packetfile.Interface{one}}
			two := packetfile.Interface{Name: "eth0", LinkType: packetfile.Raw, Resolution: packetfile.Nanoseconds, SnapLength: 65535}
			all[fmt.Sprintf("pcapng %v big=%v", resolution, big)] = packetfile.Layout{Format: packetfile.Pcapng, BigEndian: big, Interfaces: []packetfile.Interface{one, two}}
		}
	}
	return all
}

// cut truncates times to the resolution of a layout.
func cut(packets []packetfile.Packet, layout packetfile.Layout) []packetfile.Packet {
	out := slices.Clone(packets)
	for i := range out {
		out[i].TimeNs -= out[i].TimeNs % int64(packetfile.Nanoseconds/layout.Interfaces[out[i].Interface].Resolution)
	}
	return out
}

// TestWrittenIsRead reads every format back, plain and compressed, with packets that cross the end
// of the buffer at any place.
func TestWrittenIsRead(t *testing.T) {
	for name, layout := range layouts() {
		packets := random(3, 3000, 2000, len(layout.Interfaces))
		packets = append(packets, random(4, 2, 262_144, len(layout.Interfaces))...)
		data := encode(t, layout, packets)
		for compression, bytes := range map[packetfile.Compression][]byte{packetfile.Plain: data, packetfile.Gzip: compressGzip(data), packetfile.Zstd: compressZstd(t, data)} {
			t.Run(name+" "+string(compression), func(t *testing.T) {
				// The name does not reveal the format.
				r, got := read(t, file(t, "capture", bytes))
				samePackets(t, "read", cut(packets, layout), got)
				info := r.Info()
				want := packetfile.Info{
					Format: layout.Format, Compression: compression, BigEndian: layout.BigEndian, LinkType: packetfile.Ethernet,
					Resolution: layout.Interfaces[0].Resolution, Interfaces: layout.Interfaces,
				}
				if layout.Format == packetfile.Pcap {
					want.SnapLength = 262144
					want.Interfaces = slices.Clone(want.Interfaces)
					want.Interfaces[0].SnapLength = 262144
				}
				if diff := cmp.Diff(want, info); diff != "" {
					t.Errorf("Info (-want +got):\n%s", diff)
				}
				if r.Damage() != nil {
					t.Errorf("Damage: %v", r.Damage())
				}
				if err := r.Rewind(); err != nil {
					t.Fatal(err)
				}
				if again := drain(t, r); len(again) != len(got) {
					t.Errorf("%d packets the second time, %d the first", len(again), len(got))
				}
			})
		}
	}
}

// TestAgreesWithGopacket reads our output and gopacket's with both readers.
func TestAgreesWithGopacket(t *testing.T) {
	for seed := range uint64(20) {
		for name, layout := range layouts() {
			packets := random(seed, 200, 3000, len(layout.Interfaces))
			data := encode(t, layout, packets)
			compareWithGopacket(t, name, data)
		}
	}
	var out bytes.Buffer
	w := pcapgo.NewWriterNanos(&out)
	_ = w.WriteFileHeader(262144, layers.LinkTypeEthernet)
	ngOut := bytes.Buffer{}
	ngw, err := pcapgo.NewNgWriter(&ngOut, layers.LinkTypeEthernet)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range random(99, 1000, 1514, 1) {
		ci := captureInfo(p)
		if err := errors.Join(w.WritePacket(ci, p.Data), ngw.WritePacket(ci, p.Data)); err != nil {
			t.Fatal(err)
		}
	}
	_ = ngw.Flush()
	compareWithGopacket(t, "gopacket's pcap", out.Bytes())
	compareWithGopacket(t, "gopacket's pcapng", ngOut.Bytes())
}

func compareWithGopacket(t *testing.T, name string, data []byte) {
	t.Helper()
	theirs, err := gopacketReads(data)
	if err != nil {
		t.Fatalf("%s: gopacket: %v", name, err)
	}
	_, ours := read(t, file(t, "x", data))
	samePackets(t, name+", beside gopacket", theirs, ours)
}

// TestPcapng covers what neither our writer nor gopacket's writes.
func TestPcapng(t *testing.T) {
	for _, order := range []interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}{binary.LittleEndian, binary.BigEndian} {
		b := &ng{order: order}
		b.section()
		b.block(0x0bad, make([]byte, 100)) // a custom block
		resolution := func(v byte) []byte { return b.option(9, []byte{v}) }
		b.anInterface(1, 0, b.option(2, []byte("first")), resolution(9), b.option(14, order.AppendUint64(nil, 1000)))
		b.anInterface(113, 0)                    // microseconds by default
		b.anInterface(1, 0, resolution(0x80|30)) // 2^-30 s
		b.anInterface(1, 60, resolution(12))     // ps
		b.anInterface(1, 0, resolution(0))       // s
		b.anInterface(1, 0, resolution(0x80|63)) // 2^-63 s
		minus := int64(-7)
		b.anInterface(1, 0, b.option(14, order.AppendUint64(nil, uint64(minus))))
		b.enhanced(0, 1_700_000_000_123_456_789, []byte("abc"), 3)
		b.enhanced(1, 1_700_000_000_123_456, []byte("abcd"), 1000)
		b.block(4, make([]byte, 40))                           // name resolution
		b.block(0x7fffffff, make([]byte, 3<<20))               // unknown, larger than the buffer
		b.block(0x80000001, make([]byte, 20<<20))              // unknown, larger than any packet's block
		b.enhanced(2, 1_700_000_000<<30|1<<29, []byte("x"), 1) // half a second
		b.enhanced(3, 1_700_000_123_456_789_012, nil, 0)
		b.enhanced(4, 1_700_000_000, []byte("yy"), 2)
		b.enhanced(5, 1<<63|1<<62, []byte("z"), 1)
		b.enhanced(6, 8_000_000, []byte("zz"), 2)
		b.block(2, slices.Concat(b.u16(1, 0xffff), b.u32(0, 5, 3, 9), []byte("old"))) // obsolete packet block
		b.block(3, slices.Concat(b.u32(2), []byte("SP")))                             // simple packet block
		b.block(5, slices.Concat(b.u32(1, 0, 0), b.option(5, order.AppendUint64(nil, 7)), b.option(7, order.AppendUint64(nil, 3)), b.u32(0)))
		// A second section with the other byte order and other interfaces.
		other := &ng{order: binary.BigEndian, data: b.data}
		if order.String() == binary.BigEndian.String() {
			other.order = binary.LittleEndian
		}
		other.section()
		other.anInterface(101, 0, other.option(2, []byte("last")))
		other.enhanced(0, 1, []byte("second"), 6)

		r, got := read(t, file(t, "x.pcapng", other.data))
		if r.Damage() != nil {
			t.Fatal(r.Damage())
		}
		want := []packetfile.Packet{
			{TimeNs: 1_700_001_000_123_456_789, Data: []byte("abc"), Length: 3},
			{TimeNs: 1_700_000_000_123_456_000, Data: []byte("abcd"), Length: 1000, Interface: 1},
			{TimeNs: 1_700_000_000_500_000_000, Data: []byte("x"), Length: 1, Interface: 2},
			{TimeNs: 1_700_000_123_456_789, Interface: 3},
			{TimeNs: 1_700_000_000e9, Data: []byte("yy"), Length: 2, Interface: 4},
			{TimeNs: 1_500_000_000, Data: []byte("z"), Length: 1, Interface: 5},
			{TimeNs: 1_000_000_000, Data: []byte("zz"), Length: 2, Interface: 6},
			{TimeNs: 5000, Data: []byte("old"), Length: 9, Interface: 1},
			{TimeNs: packetfile.NoTime, Data: []byte("SP"), Length: 2},
			{TimeNs: 1000, Data: []byte("second"), Length: 6, Interface: 7},
		}
		samePackets(t, order.String(), want, got)
		info := r.Info()
		if len(info.Interfaces) != 8 || info.Interfaces[0].Name != "first" || info.Interfaces[7].Name != "last" || info.Interfaces[1].Dropped != 10 {
			t.Errorf("%v: interfaces %+v", order, info.Interfaces)
		}
		if info.BigEndian != (order.String() == "BigEndian") || r.Seen().Untimed != 1 {
			t.Errorf("%v: %+v %+v", order, info, r.Seen())
		}
	}
}

// TestModifiedPcap covers Kuznetzov's variant, as in libpcap's sf-pcap.c.
func TestModifiedPcap(t *testing.T) {
	for _, order := range []interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}{binary.LittleEndian, binary.BigEndian} {
		b := &ng{order: order}
		data := slices.Concat(b.u32(0xa1b2cd34), b.u16(2, 4), b.u32(0, 0, 65535, 1),
			b.u32(7, 8, 4, 60), b.u32(2), b.u16(0x800), []byte{0, 0}, []byte("data"))
		_, got := read(t, file(t, "x", data))
		want := []packetfile.Packet{{TimeNs: 7_000_008_000, Data: []byte("data"), Length: 60}}
		samePackets(t, order.String(), want, got)
	}
}

func TestMoonSniff(t *testing.T) {
	var packets []packetfile.Packet
	for i := range 100_000 {
		packets = append(packets, packetfile.Packet{TimeNs: int64(i) * 100, Data: binary.LittleEndian.AppendUint32(nil, uint32(i))})
	}
	data := encode(t, packetfile.Layout{Format: packetfile.MoonSniff}, packets)
	if len(data) != 12*len(packets) {
		t.Fatalf("%d bytes", len(data))
	}
	for name, bytes := range map[string][]byte{"a.mscap": data, "B.MSCAP.gz": compressGzip(data), "c.mscap.zst": compressZstd(t, data), "d.mscap.lz": data[12:]} {
		r, err := packetfile.Open(file(t, name, bytes))
		if name == "d.mscap.lz" { // not an .mscap name: only on request
			if err == nil {
				t.Errorf("%s was taken for MoonSniff's", name)
			}
			r, err = packetfile.OpenMoonSniff(file(t, name, data))
		}
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		samePackets(t, name, packets, drain(t, r))
		if r.Damage() != nil || r.Info().Format != packetfile.MoonSniff {
			t.Errorf("%s: %v, damage %v", name, r.Info(), r.Damage())
		}
	}
	// The content decides, not the name.
	r, _ := read(t, file(t, "x.mscap", encode(t, packetfile.Layout{Format: packetfile.Pcapng}, random(1, 10, 60, 1))))
	if r.Info().Format != packetfile.Pcapng {
		t.Errorf("a pcapng file called .mscap is read as %s", r.Info().Format)
	}
}

func TestSeen(t *testing.T) {
	packets := []packetfile.Packet{{TimeNs: 100, Data: []byte("ab"), Length: 2}, {TimeNs: 50, Data: []byte("a"), Length: 9}, {TimeNs: 60}, {TimeNs: 20}, {TimeNs: math.MaxUint32}}
	r, _ := read(t, file(t, "x", encode(t, packetfile.Layout{Format: packetfile.Pcap}, packets)))
	want := packetfile.Seen{Packets: 5, Short: 1, Backwards: 2, LargestBackwardsNs: 50, FirstNs: 100, LastNs: math.MaxUint32}
	if diff := cmp.Diff(want, r.Seen()); diff != "" {
		t.Error(diff)
	}
}

func TestBatch(t *testing.T) {
	packets := random(5, 1000, 100, 1)
	r, err := packetfile.Open(file(t, "x", encode(t, packetfile.Layout{Format: packetfile.Pcap}, packets)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	batch := make([]packetfile.Packet, 7)
	at := 0
	for {
		n, err := r.NextBatch(batch)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || n == 0 {
			t.Fatal(n, err)
		}
		samePackets(t, fmt.Sprintf("batch from %d", at), packets[at:at+n], batch[:n])
		at += n
	}
	if _, err := r.NextBatch(batch); at != len(packets) || !errors.Is(err, io.EOF) {
		t.Errorf("%d of %d packets, then %v", at, len(packets), err)
	}
}
