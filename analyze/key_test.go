package analyze

import (
	"bytes"
	"encoding/hex"
	"testing"

	"nines.dev/nines/analyze/packetfile"
)

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	ipv4UDP = "4500003c03b100004011ab2c0a000010c0a80102"
	udpHead = "040000350028abcd"
	payload = "b10300005503000000000000000000000201"
)

// The same packet on different links has the same id, ports and flow.
func TestKeysOnAllLinks(t *testing.T) {
	mac := unhex(t, "52540021f8295254008d9dad")
	ip := unhex(t, ipv4UDP+udpHead+payload)
	options := append(unhex(t, "4700003c03b100004011ab2c0a000010c0a80102"+"0101010101010101"), unhex(t, udpHead+payload)...)
	ip6 := append(unhex(t, "6000000000281140"+"20010db8000000000000000000000001"+"20010db8000000000000000000000002"), unhex(t, udpHead+payload)...)
	ip6options := append(unhex(t, "6000000000280040"+"20010db8000000000000000000000001"+"20010db8000000000000000000000002"+"1100010400000000"), unhex(t, udpHead+payload)...)
	join := bytes.Join
	for name, c := range map[string]struct {
		link packetfile.LinkType
		data []byte
	}{
		"Ethernet":       {packetfile.Ethernet, join([][]byte{mac, {8, 0}, ip}, nil)},
		"VLAN":           {packetfile.Ethernet, join([][]byte{mac, {0x81, 0, 0, 5, 8, 0}, ip}, nil)},
		"QinQ":           {packetfile.Ethernet, join([][]byte{mac, {0x88, 0xa8, 0, 7, 0x81, 0, 0, 5, 8, 0}, ip}, nil)},
		"IP options":     {packetfile.Ethernet, join([][]byte{mac, {8, 0}, options}, nil)},
		"IPv6":           {packetfile.Ethernet, join([][]byte{mac, {0x86, 0xdd}, ip6}, nil)},
		"IPv6 options":   {packetfile.Ethernet, join([][]byte{mac, {0x86, 0xdd}, ip6options}, nil)},
		"raw":            {packetfile.Raw, ip},
		"raw IPv6":       {packetfile.IPv6, ip6},
		"cooked":         {packetfile.Cooked, join([][]byte{make([]byte, 14), {8, 0}, ip}, nil)},
		"cooked 2":       {packetfile.Cooked2, join([][]byte{{8, 0}, make([]byte, 18), ip}, nil)},
		"BSD loopback":   {packetfile.Null, join([][]byte{{2, 0, 0, 0}, ip}, nil)},
		"MoonSniff file": {packetfile.MoonSniffID, []byte{0xb1, 3, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			for key, want := range map[Key]uint64{MoonSniff: 0x3b1, Nines: 0x3b1 | 1<<32 | 0x102<<40, Flow: 0x3b1 | 0x400<<32 | 0x35<<48} {
				x := &extractor{key: key}
				got, ok := x.id(plainnessOf(c.link, c.data), c.link, c.data)
				if c.link == packetfile.MoonSniffID {
					if ok != (key == MoonSniff) {
						t.Errorf("%s: %v", key, ok)
					}
				} else if !ok || got != want {
					t.Errorf("%s: %#x, %v, want %#x", key, got, ok, want)
				}
			}
		})
	}
}

// Of nines' flags only the phase tells packets apart. Captures that are cut before the stream, and those of
// before there were streams, have one stream.
func TestKeysOfNinesHaveThePhaseAndTheStream(t *testing.T) {
	head := "52540021f8295254008d9dad0800" + ipv4UDP + udpHead
	for name, c := range map[string]struct {
		payload string
		want    uint64
	}{
		"warm-up":             {"b10300005500000000000000000000000000", 0x3b1},
		"measured":            {"b10300005501000000000000000000000000", 0x3b1 | 1<<32},
		"side B":              {"b10300005503000000000000000000000000", 0x3b1 | 1<<32},
		"probe":               {"b10300005505000000000000000000000000", 0},
		"second stream":       {"b10300005501aabbccdd11223344550100ff", 0x3b1 | 1<<32 | 0xff00<<40},
		"cut":                 {"b10300005501aabbccdd1122334455", 0x3b1 | 1<<32},
		"before streams":      {"b10300005501aabbccdd1122334455660000", 0x3b1 | 1<<32},
		"before, after 30 h":  {"b10300005501aabbccdd1122334455660100", 0x3b1 | 1<<32 | 1<<40},
		"with a byte missing": {"b103000055", 0},
	} {
		data := unhex(t, head+c.payload)
		id, ok := (&extractor{key: Nines}).id(plainnessOf(packetfile.Ethernet, data), packetfile.Ethernet, data)
		if id != c.want || ok != (c.want != 0) {
			t.Errorf("%s: %#x, %v, want %#x", name, id, ok, c.want)
		}
	}
}

// keyOf is the key of a packet, by the fast path where it has one.
func (x *extractor) keyOf(link packetfile.LinkType, data []byte) (hash96, bool) {
	return x.of(plainnessOf(link, data), link, data)
}

// A packet has the same content key wherever it was captured, if its Ethernet header is the same.
func TestContentIsThatOfEthernetOnOtherLinks(t *testing.T) {
	mac := unhex(t, "52540021f8295254008d9dad")
	ip := unhex(t, ipv4UDP+udpHead+payload)
	ethernet := append(append(bytes.Clone(mac), 8, 0), ip...)
	for _, kind := range []Key{Content, Published} {
		x := newExtractor(kind, 60) // the packet ends there
		want, ok := x.keyOf(packetfile.Ethernet, ethernet)
		if !ok {
			t.Fatal("no key")
		}
		if key := hex.EncodeToString(x.bytes(packetfile.Ethernet, ethernet)); key != "0800"+"4500003c03b10000401100000a000010c0a80102"+"0400003500280000"+payload {
			t.Errorf("the key is %s", key)
		}
		for link, data := range map[packetfile.LinkType][]byte{
			packetfile.Raw: ip, packetfile.Cooked: append(append(make([]byte, 14), 8, 0), ip...),
			packetfile.Cooked2: append(append([]byte{8, 0}, make([]byte, 18)...), ip...), packetfile.Null: append([]byte{2, 0, 0, 0}, ip...),
		} {
			if got, _ := x.keyOf(link, data); got != want {
				t.Errorf("%v: another key: %x", link, x.bytes(link, data))
			}
		}
	}
}

// Later fragments have no UDP header, whatever their bytes look like.
func TestLaterFragmentsHaveNoID(t *testing.T) {
	frame := unhex(t, "52540021f8295254008d9dad0800"+"4500003c03b120b94011ab2c0a000010c0a80102"+udpHead+payload)
	for _, key := range []Key{MoonSniff, Nines, Flow} {
		if id, ok := (&extractor{key: key}).id(plainnessOf(packetfile.Ethernet, frame), packetfile.Ethernet, frame); ok {
			t.Errorf("%s: id %#x", key, id)
		}
	}
}

// FuzzKey: no packet may break the key parser; equal content has an equal hash, and the fast path
// agrees with the slow one.
func FuzzKey(f *testing.F) {
	mac := "52540021f8295254008d9dad"
	for _, text := range []string{"", mac, mac + "0800" + ipv4UDP, mac + "0800" + ipv4UDP + udpHead + payload, mac + "810000050800" + ipv4UDP + udpHead,
		mac + "86dd6000000000280040" + "20010db8000000000000000000000001" + "20010db8000000000000000000000002" + "1100010400000000" + udpHead + payload} {
		raw, err := hex.DecodeString(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint32(packetfile.Ethernet), raw)
		f.Add(uint32(packetfile.Raw), raw)
	}
	long := numbered(1)
	long.payload = bytes.Repeat([]byte{1, 2, 3}, 200)
	f.Add(uint32(packetfile.Ethernet), long.frame())
	long.tcp = true
	f.Add(uint32(packetfile.Ethernet), long.frame())
	extractors, wholes := make(map[Key]*extractor), make(map[Key]*extractor)
	for _, key := range Keys() {
		extractors[key], wholes[key] = newExtractor(key, usualDepth), newExtractor(key, WholePacket)
	}
	f.Fuzz(func(t *testing.T, link uint32, data []byte) {
		l := packetfile.LinkType(link)
		for _, key := range Keys() {
			x := extractors[key]
			got, ok := x.keyOf(l, data)
			if name := x.describe(l, packetfile.Packet{Data: data, Length: uint32(len(data))}); name == "" {
				t.Error("a packet without a description")
			}
			if slow, can := x.of(notPlain, l, data); slow != got || can != ok {
				t.Errorf("%s, link %d, %x: %v and %v, slowly %v and %v", key, link, data, got, ok, slow, can)
			}
			whole := wholes[key]
			if slow, can := whole.of(notPlain, l, data); key == Content {
				if fast, ok := whole.keyOf(l, data); fast != slow || ok != can {
					t.Errorf("whole packet, link %d, %x: %v and %v, slowly %v and %v", link, data, fast, ok, slow, can)
				}
			}
			if k := x.bytes(l, data); key == Published && l == packetfile.Ethernet && string(k) != referenceKey(data) {
				t.Errorf("%x: key %x, want %x", data, k, referenceKey(data))
			}
		}
		table := newFlowTable(&extractor{key: Content})
		if err := table.reserve(1); err != nil {
			t.Fatal(err)
		}
		defer table.free()
		table.take(0, plainnessOf(l, data), l, data)
	})
}
