package packetfilter

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

func program(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/nines-filter")
	if err == nil {
		_, err = os.Stat(path)
	}
	labtest.Require(t, "nines-filter (make build)", err == nil)
	return path
}

// expressions use all of the language that reads packets.
const expressions = `
tcp
icmp or icmp6
ip
arp
not arp and not port 22
portrange 50-90
host 10.0.0.1 and not port 80
(host 10.0.0.1 or host 10.0.0.2) and udp
net 10.0.1.0/24
host 2001::1
ether src 02:00:00:00:00:01
ether broadcast
vlan
vlan 5 and tcp port 80
vlan 7 and vlan 5 and ip
less 64
greater 64
len > 70 and udp
ip[8] = 64
tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn
udp[8:4] = 0x01020304
ether[12:2] = 0x86dd
ip6 proto 17
ip and len != ip[2:2] + 14
`

// TestMatchesAsTcpdump: of random packets, whole and cut, a filter chooses those that tcpdump does.
func TestMatchesAsTcpdump(t *testing.T) {
	labtest.Require(t, "tcpdump (hack/setup/packages.txt)", labtest.Installed("tcpdump"))
	r := rand.New(rand.NewPCG(1, 2))
	var file bytes.Buffer
	w := pcapgo.NewWriter(&file)
	if err := w.WriteFileHeader(4096, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	type packet struct {
		data   []byte
		length int
	}
	var packets []packet
	for i := range 4000 {
		data := randomFrame(r)
		p := packet{data, len(data)}
		if r.IntN(4) == 0 {
			p.data = data[:r.IntN(len(data))]
		}
		packets = append(packets, p)
		// Its number is its time.
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(int64(i), 0), CaptureLength: len(p.data), Length: p.length}, p.data); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "in.pcap")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for expression := range strings.Lines(strings.TrimSpace(expressions)) {
		expression = strings.TrimSpace(expression)
		theirs := chosenByTcpdump(t, path, expression)
		f, err := Compile(context.Background(), program(t), expression, uint32(layers.LinkTypeEthernet))
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range packets {
			if ours := f.Matches(p.data, p.length); ours != theirs[i] {
				t.Fatalf("%q chooses packet %d: %v, and tcpdump %v: % x (%d bytes)", expression, i, ours, theirs[i], p.data, p.length)
			}
		}
		if len(theirs) < 10 {
			t.Errorf("%q chooses %d packets, too few to say anything", expression, len(theirs))
		}
	}
}

func chosenByTcpdump(t *testing.T, path, expression string) map[int]bool {
	t.Helper()
	out, err := exec.Command("tcpdump", "-Z", "root", "-r", path, "-w", "-", expression).Output()
	if err != nil {
		t.Fatalf("tcpdump %s: %v", expression, err)
	}
	r, err := pcapgo.NewReader(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	chosen := map[int]bool{}
	for {
		_, about, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return chosen
		}
		if err != nil {
			t.Fatal(err)
		}
		chosen[int(about.Timestamp.Unix())] = true
	}
}

// randomFrame has up to two VLAN tags, IPv4 with or without options or fragments, IPv6 or ARP, and
// few addresses and ports.
func randomFrame(r *rand.Rand) []byte {
	one := func(values ...uint16) uint16 { return values[r.IntN(len(values))] }
	f := []byte{2, 0, 0, 0, 0, byte(1 + r.IntN(2)), 2, 0, 0, 0, 0, byte(1 + r.IntN(2))}
	if r.IntN(8) == 0 {
		copy(f, "\xff\xff\xff\xff\xff\xff")
	}
	for range r.IntN(3) {
		f = binary.BigEndian.AppendUint16(f, one(0x8100, 0x88a8))
		f = binary.BigEndian.AppendUint16(f, one(5, 7))
	}
	protocol := byte(one(1, 6, 6, 17, 17, 58))
	switch r.IntN(5) {
	case 0, 1:
		h := make([]byte, 20+4*r.IntN(2))
		h[0], h[2], h[3], h[8], h[9] = byte(0x40|len(h)/4), 0, byte(len(h)+24), byte(one(64, 63)), protocol
		if r.IntN(6) == 0 {
			h[6], h[7] = 0x20, byte(r.IntN(2))
		}
		h[12], h[14], h[15], h[16], h[18], h[19] = 10, byte(r.IntN(2)), byte(r.IntN(3)), 10, byte(r.IntN(2)), byte(r.IntN(3))
		f = append(append(f, 8, 0), h...)
	case 2, 3:
		h := make([]byte, 40)
		h[0], h[5], h[6], h[7] = 0x60, 24, protocol, 64
		h[8], h[9], h[23], h[24], h[25], h[39] = 0x20, 1, byte(r.IntN(3)), 0x20, 1, byte(r.IntN(3))
		f = append(append(f, 0x86, 0xdd), h...)
	default:
		return append(append(f, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1), make([]byte, 38)...)
	}
	f = binary.BigEndian.AppendUint16(f, one(22, 53, 80, 8080))
	f = binary.BigEndian.AppendUint16(f, one(22, 53, 80, 8080))
	f = append(f, 0, 24, 0, 0)
	if r.IntN(2) == 0 {
		f = append(f, 1, 2, 3, 4)
	} else {
		f = append(f, 9, 9, 9, 9)
	}
	return append(f, 0x50, byte(r.IntN(32)), 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6)
}

func TestAWrongFilterIsAWrongCall(t *testing.T) {
	for expression, say := range map[string]string{"udp porrt 5": "man pcap-filter", "host": "man pcap-filter", "(tcp": "man pcap-filter", "inbound": "what is in packets"} {
		_, err := Compile(context.Background(), program(t), expression, 1)
		if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), expression) || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v", expression, err)
		}
	}
	if _, err := Compile(context.Background(), "/nonexistent/nines-filter", "tcp", 1); err == nil || exit.Code(err) == exit.Wrong {
		t.Errorf("without the program: %v", err)
	}
}

// FuzzParse: what a program prints is instructions, or an error.
func FuzzParse(f *testing.F) {
	f.Add("1\n6 0 0 262144\n")
	f.Add("2\n40 0 0 12\n6 0 0 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		program, err := parse(text)
		if err == nil && len(program) == 0 {
			t.Error("no instruction, and no error")
		}
		if err == nil {
			if filter, err := newFilter(program); err == nil {
				filter.Matches(make([]byte, 60), 60)
				filter.Matches(make([]byte, 60), 1500)
			}
		}
	})
}
