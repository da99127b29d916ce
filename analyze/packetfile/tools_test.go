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

// tool runs a program of the host.
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

// TestTcpdumpReadsTheSame reads our output with libpcap, in every format.
func TestTcpdumpReadsTheSame(t *testing.T) {
	for name, layout := range layouts() {
		if layout.Format == packetfile.Pcapng {
			layout.Interfaces = layout.Interfaces[:1] // libpcap wants all interfaces alike
		}
		packets := slices.DeleteFunc(random(17, 300, 200, 1), func(p packetfile.Packet) bool { return len(p.Data) < 14 })
		for _, p := range packets {
			p.Data[12], p.Data[13] = 0x88, 0xb5 // experimental EtherType, which it does not parse
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

// fromTcpdump parses times and bytes from tcpdump's output.
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
			continue // the previous packet continues
		}
		ns, err := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, packetfile.Packet{TimeNs: s*1e9 + ns})
	}
	return all
}

// TestEditcapWritesPcapng reads pcapng, pcap, modified pcap and compressed files from Wireshark's
// tools.
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
	// Merge two captures, one per interface, with a comment and a secrets block.
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

// TestZstdAndGzipPrograms reads the output of both programs: levels, threads, members.
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
