package analyze

import (
	"bytes"
	"encoding/binary"
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
	payload = "b10300005507000000000000000000000000"
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
			for key, want := range map[Key]uint64{MoonSniff: 0x3b1, Nines: 0x3b1 | 7<<32, Flow: 0x3b1 | 0x400<<32 | 0x35<<48} {
				x := &extractor{key: key}
				got, ok := x.id(c.link, c.data)
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

// A packet has the same content key wherever it was captured, if its Ethernet header is the same.
func TestContentIsThatOfEthernetOnOtherLinks(t *testing.T) {
	mac := unhex(t, "52540021f8295254008d9dad")
	ip := unhex(t, ipv4UDP+udpHead+payload)
	ethernet := append(append(bytes.Clone(mac), 8, 0), ip...)
	x := &extractor{key: Content, hash: newHasher()}
	want, _ := x.of(packetfile.Ethernet, ethernet)
	if key := hex.EncodeToString(x.bytes(packetfile.Ethernet, ethernet)); key != "0800"+"4500003c03b10000401100000a000010c0a80102"+"0400003500280000"+payload {
		t.Errorf("the key is %s", key)
	}
	for link, data := range map[packetfile.LinkType][]byte{
		packetfile.Raw: ip, packetfile.Cooked: append(append(make([]byte, 14), 8, 0), ip...),
		packetfile.Cooked2: append(append([]byte{8, 0}, make([]byte, 18)...), ip...), packetfile.Null: append([]byte{2, 0, 0, 0}, ip...),
	} {
		if got, _ := x.of(link, data); got != want {
			t.Errorf("%v: another key: %x", link, x.bytes(link, data))
		}
	}
}

// Bytes that a router changes are in the key only if the TTL is not masked.
func TestMaskTTL(t *testing.T) {
	for name, packets := range map[string][2]string{
		"IPv4":             {"0800" + ipv4UDP, "0800" + "4500003c03b100003f11ac2c0a000010c0a80102"},
		"IPv4 to VLAN":     {"0800" + ipv4UDP, "810000050800" + "4500003c03b100003f11ac2c0a000010c0a80102"},
		"IPv4 and options": {"0800" + "4600003c03b100004011ab2c0a000010c0a8010201010101", "0800" + "4600003c03b100003f11ac2c0a000010c0a8010201010101"},
		"IPv6":             {"86dd" + "6000000000281140" + "20010db8000000000000000000000001" + "20010db8000000000000000000000002", "86dd" + "600000000028113f" + "20010db8000000000000000000000001" + "20010db8000000000000000000000002"},
	} {
		t.Run(name, func(t *testing.T) {
			rest := unhex(t, udpHead+payload+"00000000")
			before := append(unhex(t, "52540021f8295254008d9dad"+packets[0]), rest...)
			behind := append(unhex(t, "52540021f82a5254008d9dae"+packets[1]), rest...)
			hash := newHasher()
			plain, masked := &extractor{key: Content, hash: hash}, &extractor{key: Content, hash: hash, maskTTL: true}
			if !bytes.Equal(masked.bytes(packetfile.Ethernet, before), masked.bytes(packetfile.Ethernet, behind)) {
				t.Errorf("%x\n%x", masked.bytes(packetfile.Ethernet, before), masked.bytes(packetfile.Ethernet, behind))
			}
			a, _ := masked.of(packetfile.Ethernet, before)
			b, _ := masked.of(packetfile.Ethernet, behind)
			c, _ := plain.of(packetfile.Ethernet, before)
			d, _ := plain.of(packetfile.Ethernet, behind)
			if a != b || c == d {
				t.Errorf("masked %v and %v, plain %v and %v", a, b, c, d)
			}
		})
	}
}

// Later fragments have no UDP header, whatever their bytes look like.
func TestLaterFragmentsHaveNoID(t *testing.T) {
	frame := unhex(t, "52540021f8295254008d9dad0800"+"4500003c03b120b94011ab2c0a000010c0a80102"+udpHead+payload)
	for _, key := range []Key{MoonSniff, Nines, Flow} {
		if id, ok := (&extractor{key: key}).id(packetfile.Ethernet, frame); ok {
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
	hash := newHasher()
	f.Fuzz(func(t *testing.T, link uint32, data []byte) {
		l := packetfile.LinkType(link)
		for _, key := range Keys() {
			for _, mask := range []bool{false, true} {
				x := &extractor{key: key, maskTTL: mask, hash: hash}
				got, ok := x.of(l, data)
				name := x.describe(l, packetfile.Packet{Data: data, Length: uint32(len(data))})
				if name == "" {
					t.Error("a packet without a description")
				}
				if key != Content || !ok {
					continue
				}
				// The slow way, from the key's bytes.
				k := x.bytes(l, data)
				var words [contentWords]uint64
				var padded [8 * contentWords]byte
				copy(padded[:], k)
				for i := range words {
					words[i] = binary.LittleEndian.Uint64(padded[8*i:])
				}
				if want := hash.of(&words, len(k)); got != want {
					t.Errorf("link %d, %x: hash %v, of its key %x %v", link, data, got, k, want)
				}
				if l == packetfile.Ethernet && !mask && string(k) != referenceKey(data) {
					t.Errorf("%x: key %x, want %x", data, k, referenceKey(data))
				}
			}
		}
		table := newFlowTable(&extractor{key: Content})
		if err := table.reserve(1); err != nil {
			t.Fatal(err)
		}
		defer table.free()
		table.take(0, l, data)
	})
}
