package packetfile_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/test/labtest"
)

// tool runs a program of the host's.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	labtest.Require(t, name+" (hack/setup/packages.txt names its package)", err == nil)
	out, err := exec.Command(path, args...).Output()
	if err != nil {
		var said *exec.ExitError
		_ = errors.As(err, &said)
		t.Fatalf("%s %q: %v %+v", name, args, err, said)
	}
	return string(out)
}

// TestTcpdumpReadsTheSame has libpcap read what we write, in every format.
func TestTcpdumpReadsTheSame(t *testing.T) {
	for name, layout := range layouts() {
		if layout.Format == packetfile.Pcapng {
			layout.Interfaces = layout.Interfaces[:1] // libpcap wants the same of all
		}
		packets := slices.DeleteFunc(random(17, 300, 200, 1), func(p packetfile.Packet) bool { return len(p.Data) < 14 })
		for _, p := range packets {
			p.Data[12], p.Data[13] = 0x88, 0xb5 // the EtherType for experiments, of which it knows nothing
		}
		path := file(t, "x", encode(t, layout, packets))
		_, ours := read(t, path)
		for i := range ours {
			ours[i].Length = 0 // tcpdump does not always show it
		}
		out := tool(t, "tcpdump", "-r", path, "-tt", "--time-stamp-precision=nano", "-n", "-xx", "-q", "-K")
		samePackets(t, "tcpdump, "+name, fromTcpdump(t, out), ours)
	}
}

// fromTcpdump takes times and bytes from tcpdump's lines.
func fromTcpdump(t *testing.T, out string) (all []packetfile.Packet) {
	t.Helper()
	for line := range strings.Lines(out) {
		if text, isHex := strings.CutPrefix(line, "\t0x"); isHex {
			_, text, _ = strings.Cut(text, ":")
			bytes, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			last := &all[len(all)-1]
			last.Data = append(last.Data, bytes...)
			continue
		}
		stamp, _, _ := strings.Cut(line, " ")
		seconds, fraction, ok := strings.Cut(stamp, ".")
		s, err := strconv.ParseInt(seconds, 10, 64)
		if !ok || err != nil {
			continue // more of the packet before
		}
		ns, err := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, packetfile.Packet{TimeNs: s*1e9 + ns})
	}
	return all
}

// TestEditcapWritesPcapng reads Wireshark's pcapng, pcap, modified pcap and compressed
// files.
func TestEditcapWritesPcapng(t *testing.T) {
	layout := packetfile.Layout{Format: packetfile.Pcap}
	packets := random(18, 500, 300, 1)
	dir := t.TempDir()
	in := file(t, "in.pcap", encode(t, layout, packets))
	for _, format := range []string{"pcapng", "nsecpcap", "pcap", "modpcap"} {
		path := filepath.Join(dir, "x."+format)
		tool(t, "editcap", "-F", format, in, path)
		want := slices.Clone(packets)
		if format == "pcap" || format == "modpcap" {
			for i := range want {
				want[i].TimeNs -= want[i].TimeNs % 1000
			}
		}
		r, got := read(t, path)
		samePackets(t, "editcap -F "+format, want, got)
		if r.Damage() != nil {
			t.Errorf("%s: %v", format, r.Damage())
		}
	}
	// Two captures in one, each its interface; a comment and a secret block among them.
	merged := filepath.Join(dir, "merged")
	tool(t, "mergecap", "-a", "-w", merged, filepath.Join(dir, "x.pcapng"), filepath.Join(dir, "x.nsecpcap"))
	if _, got := read(t, merged); len(got) != 1000 {
		t.Errorf("mergecap: %d packets, want 1000", len(got))
	}
	commented := filepath.Join(dir, "commented")
	tool(t, "editcap", "-a", "3:a comment", "--capture-comment", "of all", filepath.Join(dir, "x.pcapng"), commented)
	_, got := read(t, commented)
	samePackets(t, "with comments", packets, got)
}

// TestZstdAndGzipPrograms reads what the programs write: levels, threads, members.
func TestZstdAndGzipPrograms(t *testing.T) {
	packets := random(19, 20_000, 300, 1)
	in := file(t, "in.pcap", encode(t, packetfile.Layout{Format: packetfile.Pcap}, packets))
	for i, command := range [][]string{
		{"zstd", "-1", "-c", in}, {"zstd", "-19", "--check", "-c", in}, {"zstd", "--ultra", "-22", "-c", in},
		{"zstd", "-T2", "--no-check", "-c", in}, {"zstd", "--long=27", "-c", in}, {"zstd", "--format=gzip", "-c", in}, {"gzip", "-9", "-c", in}, {"gzip", "-1", "-c", in},
	} {
		if command[1] == "--format=gzip" && !strings.Contains(tool(t, "zstd", "-vV"), "gzip") {
			continue
		}
		out := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.WriteFile(out, []byte(tool(t, command[0], command[1:]...)), 0o600); err != nil {
			t.Fatal(err)
		}
		r, got := read(t, out)
		samePackets(t, strings.Join(command, " "), packets, got)
		if r.Damage() != nil {
			t.Errorf("%q: %v", command, r.Damage())
		}
	}
}
