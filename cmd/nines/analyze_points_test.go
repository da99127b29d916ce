package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/analyze"
	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

// udp is packet i of a flow to a port, behind what precedes IP.
func udp(before string, port uint16, i int) []byte {
	be := binary.BigEndian
	p := append([]byte(before), 0x45, 0, 0, 40)
	p = append(be.AppendUint16(p, uint16(i)), 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 1, 1)
	p = be.AppendUint16(be.AppendUint16(p, 4000), port)
	p = append(p, 0, 20, 0, 0)
	return be.AppendUint32(append(p, 0, 0, 0, 0, 0, 0, 0, 0), uint32(i))
}

const (
	ethernetHead = "\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x08\x00"
	begins       = int64(1_700_000_000e9)
)

// cooked2 is the head of a packet of an interface, of a type of struct sockaddr_ll: 0 received, 4 sent.
func cooked2(index uint32, kind byte) string {
	head := binary.BigEndian.AppendUint32([]byte{8, 0, 0, 0}, index)
	return string(append(head, 0, 1, kind, 6, 2, 0, 0, 0, 0, 1, 0, 0))
}

func writePackets(t *testing.T, path string, layout packetfile.Layout, packets []packetfile.Packet) {
	t.Helper()
	slices.SortStableFunc(packets, func(a, b packetfile.Packet) int { return int(a.TimeNs - b.TimeNs) })
	var out bytes.Buffer
	w, err := packetfile.NewWriter(&out, layout)
	for _, p := range packets {
		if err == nil {
			p.Length = uint32(len(p.Data))
			err = w.Write(p)
		}
	}
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = os.WriteFile(path, out.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// evaluated calls nines analyze, which must succeed.
func evaluated(t *testing.T, args ...string) (s analyze.Summary) {
	t.Helper()
	var stdout, stderr strings.Builder
	if code := execute(append([]string{"analyze", "--format", "json"}, args...), &stdout, &stderr); code != 0 {
		t.Fatalf("%q: exit code %d: %s", args, code, stderr.String())
	}
	if err := json.Unmarshal([]byte(stdout.String()), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// refusedCall calls nines analyze, which must refuse.
func refusedCall(t *testing.T, say string, args ...string) {
	t.Helper()
	var stdout, stderr strings.Builder
	if code := execute(append([]string{"analyze"}, args...), &stdout, &stderr); code != exit.Wrong || !strings.Contains(stderr.String(), say) {
		t.Errorf("%q: exit code %d, %q; want %q", args, code, stderr.String(), say)
	}
}

// TestBothPointsInOneFile: pcapng has interfaces; a capture of all interfaces has their numbers, and
// which packets they received.
//
//	eth0, 2: received ▸ device ▸ eth1, 3: sent, 700 ns later
func TestBothPointsInOneFile(t *testing.T) {
	const packets, delay = 1000, 700
	dir := t.TempDir()
	ng, any := filepath.Join(dir, "both.pcapng"), filepath.Join(dir, "any.pcap")
	var ofNG, ofAny []packetfile.Packet
	for i := range packets {
		at := begins + int64(i)*1000
		ofNG = append(ofNG, packetfile.Packet{TimeNs: at, Data: udp(ethernetHead, 5001, i)}, packetfile.Packet{TimeNs: at + delay, Data: udp(ethernetHead, 5001, i), Interface: 1})
		ofAny = append(ofAny, packetfile.Packet{TimeNs: at, Data: udp(cooked2(2, 0), 5001, i)}, packetfile.Packet{TimeNs: at + delay, Data: udp(cooked2(3, 4), 5001, i)})
	}
	one := packetfile.Interface{Name: "eth0", LinkType: packetfile.Ethernet, Resolution: packetfile.Nanoseconds}
	two := packetfile.Interface{Name: "eth1", LinkType: packetfile.Ethernet, Resolution: packetfile.Nanoseconds}
	writePackets(t, ng, packetfile.Layout{Format: packetfile.Pcapng, Interfaces: []packetfile.Interface{one, two}}, ofNG)
	writePackets(t, any, packetfile.Layout{Format: packetfile.Pcap, Interfaces: []packetfile.Interface{{LinkType: packetfile.Cooked2, Resolution: packetfile.Nanoseconds}}}, ofAny)
	for _, args := range []string{
		ng + " --pre-interface eth0 --post-interface eth1",
		ng + " " + ng + " --pre-interface 0 --post-interface 1",
		any + " --pre-interface 2 --post-interface 3",
		any + " --pre-direction in --post-direction out",
		any + " --pre-interface 2 --post-direction out",
	} {
		s := evaluated(t, strings.Fields(args)...)
		if s.Counts != (analyze.Counts{Pairs: packets}) || *s.Latency.Min != delay || *s.Latency.Max != delay || s.Verdict != "clean" || s.Pre.Path == s.Post.Path {
			t.Errorf("%s: %+v of %d to %d ns, %s %v", args, s.Counts, *s.Latency.Min, *s.Latency.Max, s.Verdict, s.Reasons)
		}
	}
	refusedCall(t, "--pre-interface and --post-interface", ng)
	refusedCall(t, `its interfaces: 0 "eth0" 1 "eth1"`, ng, ng)
	refusedCall(t, `none of its packets is of "eth2"; its interfaces: eth0, eth1`, ng, "--pre-interface", "eth2", "--post-interface", "eth1")
	refusedCall(t, `none of its packets is of "7"; its interfaces: 2, 3`, any, "--pre-interface", "7", "--post-interface", "3")
	refusedCall(t, "does not say the direction", ng, "--pre-direction", "in", "--post-direction", "out")
	refusedCall(t, `unknown direction "rx"; allowed: in, out`, ng, "--pre-direction", "rx", "--post-direction", "out")
}

// TestAFilterOfBothFiles: what it does not choose is in no count.
func TestAFilterOfBothFiles(t *testing.T) {
	if os.Getenv("NINES_LIBEXEC") == "" {
		t.Setenv("NINES_LIBEXEC", filepath.Join(labtest.Repository(), "bin"))
	}
	_, err := os.Stat(filepath.Join(os.Getenv("NINES_LIBEXEC"), "nines-filter"))
	labtest.Require(t, "nines-filter (make build)", err == nil)
	dir := t.TempDir()
	pre, post := filepath.Join(dir, "pre"), filepath.Join(dir, "post")
	var before, after []packetfile.Packet
	for i := range 100 {
		at := begins + int64(i)*1000
		before = append(before, packetfile.Packet{TimeNs: at, Data: udp(ethernetHead, 5001, i)}, packetfile.Packet{TimeNs: at + 5, Data: udp(ethernetHead, 53, i)})
		after = append(after, packetfile.Packet{TimeNs: at + 300, Data: udp(ethernetHead, 5001, i)}, packetfile.Packet{TimeNs: at + 9, Data: udp(ethernetHead, 80, i)})
	}
	layout := packetfile.Layout{Format: packetfile.Pcap}
	writePackets(t, pre, layout, before)
	writePackets(t, post, layout, after)
	for _, args := range [][]string{{"--filter", "udp port 5001"}, {"--filter", "udp", "--pre-filter", "not port 53", "--post-filter", "not port 80"}} {
		s := evaluated(t, append([]string{pre, post}, args...)...)
		if s.Counts != (analyze.Counts{Pairs: 100}) || *s.Latency.Max != 300 || s.LostByCounts != 0 {
			t.Errorf("%q: %+v, at most %d ns", args, s.Counts, *s.Latency.Max)
		}
	}
	refusedCall(t, "man pcap-filter", pre, post, "--filter", "udp porrt 1")
}

// TestRotatedFilesByName: several files of each, by options or quoted patterns.
func TestRotatedFilesByName(t *testing.T) {
	dir := t.TempDir()
	layout := packetfile.Layout{Format: packetfile.Pcap}
	for part := range 3 {
		var before, after []packetfile.Packet
		for i := range 100 {
			at := begins + int64(part*100+i)*1000
			before = append(before, packetfile.Packet{TimeNs: at, Data: udp(ethernetHead, 5001, part*100+i)})
			after = append(after, packetfile.Packet{TimeNs: at + 250, Data: udp(ethernetHead, 5001, part*100+i)})
		}
		writePackets(t, filepath.Join(dir, fmt.Sprintf("pre%d.pcap", part)), layout, before)
		writePackets(t, filepath.Join(dir, fmt.Sprintf("post%d.pcap", part)), layout, after)
	}
	name := func(file string) string { return filepath.Join(dir, file) }
	for _, args := range [][]string{
		{"--pre", name("pre*.pcap"), "--post", name("post*.pcap")},
		{name("pre*.pcap"), name("post*.pcap")},
		{"--pre", name("pre2.pcap"), "--pre", name("pre0.pcap"), "--pre", name("pre1.pcap"), "--post", name("post?.pcap")},
	} {
		s := evaluated(t, args...)
		if s.Counts != (analyze.Counts{Pairs: 300}) || *s.Latency.Max != 250 || s.Verdict != "clean" {
			t.Errorf("%q: %+v, at most %d ns; %s %v", args, s.Counts, *s.Latency.Max, s.Verdict, s.Reasons)
		}
	}
	refusedCall(t, "quote it, so that nines knows", name("pre0.pcap"), name("pre1.pcap"), name("post0.pcap"), name("post1.pcap"))
	refusedCall(t, "by --pre and --post, or as", "--pre", name("pre0.pcap"))
	refusedCall(t, "by --pre and --post, or as", "--pre", name("pre0.pcap"), "--post", name("post0.pcap"), name("post1.pcap"))
	refusedCall(t, "no file has such a name", name("none*"), name("post0.pcap"))
}

// TestSpansOfTime: the units are ours, and a number without one is told them.
func TestSpansOfTime(t *testing.T) {
	for text, want := range map[string]time.Duration{"1min": time.Minute, "1min30s": 90 * time.Second, "-2m": -2 * time.Minute, "1.5ms": 1500 * time.Microsecond, "1min5min": 6 * time.Minute, "2h": 2 * time.Hour, "0": 0} {
		var got time.Duration
		if err := (spanValue{&got}).Set(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"5", "1mins", "1minute", "", "soon"} {
		got := time.Hour
		if err := (spanValue{&got}).Set(text); err == nil || !strings.Contains(err.Error(), "ns, us, ms, s, min and h") || got != time.Hour {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	refusedCall(t, "ns, us, ms, s, min and h", "a", "b", "--offset", "5")
}
