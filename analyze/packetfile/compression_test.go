package packetfile_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

// TestWhatFollowsGzip: padding and other data after the last member are not part of the capture, as
// for gzip -d; the file is whole, and what is not used is told.
func TestWhatFollowsGzip(t *testing.T) {
	packets := random(5, 5000, 100, 1)
	data := encode(t, packetfile.Layout{Format: packetfile.Pcap}, packets)
	two := append(compressGzip(data[:1000]), compressGzip(data[1000:])...)
	for name, after := range map[string]string{
		"nothing": "", "zeros": string(make([]byte, 10_240)), "one zero": "\x00", "text": "end of capture\n", "half a magic number": "\x1f",
	} {
		r, got := read(t, file(t, "x", append(bytes.Clone(two), after...)))
		samePackets(t, name, packets, got)
		if r.Damage() != nil {
			t.Errorf("%s: %v", name, r.Damage())
		}
		want := ""
		if after != "" {
			want = "bytes follow its gzip data"
		}
		if text, noisy := say(r.Remarks()); noisy || !strings.Contains(text, want) || (text == "") != (want == "") {
			t.Errorf("%s: noisy %v, %q", name, noisy, text)
		}
		if err := r.Rewind(); err != nil {
			t.Fatal(err)
		}
		samePackets(t, name+", again", packets, drain(t, r))
	}
}

// pipe runs a program on bytes.
func pipe(t *testing.T, data []byte, name string, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath(name)
	labtest.Require(t, name+" (hack/setup/packages.txt names its package)", err == nil)
	c := exec.Command(path, args...)
	c.Stdin = bytes.NewReader(data)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return out
}

// TestLZ4AndXZPrograms reads the output of both programs: levels, threads, checks, several frames or
// streams, and what is cut or damaged.
func TestLZ4AndXZPrograms(t *testing.T) {
	packets := random(19, 4000, 300, 1)
	data := encode(t, packetfile.Layout{Format: packetfile.Pcap}, packets)
	for _, command := range []string{
		"lz4 -1 -B4 -c", "lz4 -9 -B5 -c", "lz4 -B4 -BD --content-size -c", "lz4 -B4 -BX --no-frame-crc -c",
		"xz -0 -c", "xz -9e -c", "xz -1 -T2 --block-size=200000 -c", "xz -1 --check=sha256 -c", "xz -1 --check=none -c",
	} {
		words := strings.Fields(command)
		whole := pipe(t, data, words[0], words[1:]...)
		two := slices.Concat(pipe(t, data[:100_001], words[0], words[1:]...), pipe(t, data[100_001:], words[0], words[1:]...))
		for name, compressed := range map[string][]byte{"": whole, ", two": two} {
			r, got := read(t, file(t, "x", compressed))
			samePackets(t, command+name, packets, got)
			if r.Damage() != nil || string(r.Info().Compression) != words[0] {
				t.Errorf("%s%s: %s, %v", command, name, r.Info().Compression, r.Damage())
			}
			if err := r.Rewind(); err != nil {
				t.Fatal(err)
			}
			samePackets(t, command+name+", again", packets, drain(t, r))
		}
		r, got := read(t, file(t, "x", whole[:len(whole)/2]))
		if d := r.Damage(); d == nil || len(got) < 100 || len(got) >= len(packets) || !strings.Contains(d.Reason, "truncated") {
			t.Errorf("%s, cut: %d packets, %v", command, len(got), d)
		}
	}
}

// TestXZThatWantsMuchMemory: neither a large dictionary nor a file of almost nothing is trusted.
func TestXZThatWantsMuchMemory(t *testing.T) {
	data := encode(t, packetfile.Layout{Format: packetfile.Pcap}, random(1, 10, 100, 1))
	large := file(t, "large", pipe(t, data, "xz", "--lzma2=dict=1GiB", "-c"))
	_, err := packetfile.Open(large)
	refused(t, large, err, "a larger dictionary than xz -9 has", "xz -d")

	zeros := random(1, 5000, 0, 1)
	for i := range zeros {
		zeros[i].TimeNs, zeros[i].Data, zeros[i].Length = 1e18, make([]byte, 20_000), 20_000
	}
	bomb := pipe(t, encode(t, packetfile.Layout{Format: packetfile.Pcap}, zeros), "xz", "-1", "-c")
	r, got := read(t, file(t, "bomb", bomb))
	if d := r.Damage(); d == nil || len(got) > 64<<20/20_000 || !strings.Contains(d.String(), "xz -d") {
		t.Errorf("%d packets of %d bytes, %v", len(got), len(bomb), r.Damage())
	}
}

// TestWhatEditcapWrites: each format that Wireshark's editcap writes is read, or named with its
// remedy, which works.
func TestWhatEditcapWrites(t *testing.T) {
	packets := random(7, 20, 200, 1)
	for i := range packets {
		// Microseconds, and a length that is no more than what is there: not all formats have more.
		packets[i].TimeNs -= packets[i].TimeNs % 1000
		packets[i].Data = append(packets[i].Data, make([]byte, 60)...)
		packets[i].Length = uint32(len(packets[i].Data))
	}
	in := file(t, "in.pcap", encode(t, packetfile.Layout{Format: packetfile.Pcap}, packets))
	path, err := exec.LookPath("editcap")
	labtest.Require(t, "editcap (hack/setup/packages.txt names its package)", err == nil)
	reads := []string{"pcap", "pcapng", "nsecpcap", "modpcap"}
	for format, what := range map[string]string{
		"pcap": "", "pcapng": "", "nsecpcap": "", "modpcap": "",
		"5views": "5View", "lanalyzer": "LANalyzer", "netmon1": "Network Monitor", "netmon2": "Network Monitor", "ngsniffer": "Sniffer (DOS)",
		"ngwsniffer_1_1": "Sniffer (Windows)", "ngwsniffer_2_0": "Sniffer (Windows)", "observer": "Observer", "snoop": "Solaris snoop", "visual": "Visual Networks",
		"k12text": "K12", "nettl": "nettl",
	} {
		out := filepath.Join(t.TempDir(), format)
		if said, err := exec.Command(path, "-F", format, in, out).CombinedOutput(); err != nil {
			t.Logf("editcap does not write %s: %s", format, said)
			continue
		}
		into := []string{"-F", "nsecpcap"}
		if format == "k12text" || format == "nettl" { // its packets may be of several link types
			into = append(into, "-T", "ether")
		}
		if !slices.Contains(reads, format) {
			_, err := packetfile.Open(out)
			refused(t, out, err, what, "editcap "+strings.Join(into, " ")+" FILE NEW")
			remedied := out + ".new"
			if said, err := exec.Command(path, append(into, out, remedied)...).CombinedOutput(); err != nil {
				if format == "observer" { // Wireshark 4.0 does not read what it writes
					continue
				}
				t.Errorf("%s: the remedy fails: %s", format, said)
			}
			out = remedied
		}
		_, got := read(t, out)
		if len(got) != len(packets) {
			t.Errorf("%s: %d packets of %d", format, len(got), len(packets))
		}
	}
}

// TestARotatedCapture: the files of one capture are read in the order of their times, whatever their
// names are, as if they were one.
func TestARotatedCapture(t *testing.T) {
	const files = 12
	dir := t.TempDir()
	packets := random(8, 60*files, 100, 1)
	part := func(i int) []packetfile.Packet { return packets[60*i : 60*i+60] }
	// As tcpdump -C names them: out.pcap10 comes before out.pcap2.
	for i := range files {
		layout := packetfile.Layout{Format: packetfile.Pcap, BigEndian: i%2 == 1}
		data := encode(t, layout, part(i))
		if i == 5 {
			data = compressGzip(data)
		}
		name := "out.pcap"
		if i > 0 {
			name += strconv.Itoa(i)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := packetfile.Expand(filepath.Join(dir, "out.*"))
	if err != nil || len(paths) != files {
		t.Fatal(paths, err)
	}
	r, err := packetfile.OpenSeries(paths, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 2 {
		got := drain(t, r)
		samePackets(t, "a series", packets, got)
		if seen := r.Seen(); seen.Backwards > 0 || seen.Packets != 60*files || got[len(got)-1].Number != 60*files || r.Damage() != nil {
			t.Errorf("%+v, the last is number %d; %v", seen, got[len(got)-1].Number, r.Damage())
		}
		if done, size := r.Progress(); done != size {
			t.Errorf("%d of %d bytes are read at the end", done, size)
		}
		if err := r.Rewind(); err != nil {
			t.Fatal(err)
		}
	}
	// Damage within the series does not end it.
	for _, i := range []string{"3", "7"} {
		if err := os.Truncate(filepath.Join(dir, "out.pcap"+i), 1000); err != nil {
			t.Fatal(err)
		}
	}
	got := drain(t, r)
	if d := r.Damage(); len(got) <= 60*(files-2) || len(got) >= 60*files || d == nil || d.Further != 1 || !strings.HasPrefix(d.String(), "in "+filepath.Join(dir, "out.pcap3")) {
		t.Errorf("%d packets, %v", len(got), d)
	}
	if _, err := packetfile.Expand(filepath.Join(dir, "none*")); exit.Code(err) != exit.Wrong {
		t.Errorf("a pattern without a file: %v", err)
	}
	if paths, err := packetfile.Expand(filepath.Join(dir, "none")); err != nil || len(paths) != 1 {
		t.Errorf("a name: %v, %v", paths, err)
	}
	if _, err := packetfile.OpenSeries([]string{filepath.Join(dir, "out.pcap"), dir}, false); exit.Code(err) != exit.Wrong {
		t.Errorf("a folder in a series: %v", err)
	}
}

// TestAFileOfASeriesThatVanishes: it is an error, not a shorter capture.
func TestAFileOfASeriesThatVanishes(t *testing.T) {
	first := file(t, "a", encode(t, packetfile.Layout{Format: packetfile.Pcap}, random(1, 10, 50, 1)))
	second := file(t, "b", encode(t, packetfile.Layout{Format: packetfile.Pcap}, random(2, 10, 50, 1)))
	r, err := packetfile.OpenSeries([]string{first, second}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, path := range []string{first, second} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for err == nil {
		_, err = r.Next()
	}
	if errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "there is no such file") {
		t.Errorf("it ends with %v", err)
	}
}
