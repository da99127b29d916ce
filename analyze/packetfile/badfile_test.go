package packetfile_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/exit"
)

// TestNotACapture: the error says what the file is, and what to do.
func TestNotACapture(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	elf, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	noise := []byte{0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	cut := encode(t, packetfile.Layout{Format: packetfile.Pcap}, nil)
	old := append([]byte(nil), cut...)
	old[4] = 3
	ngCut := encode(t, packetfile.Layout{Format: packetfile.Pcapng}, nil)
	ngBad := append([]byte(nil), ngCut...)
	ngBad[9] ^= 1
	for name, c := range map[string]struct {
		file string
		data []byte
		say  []string
	}{
		"empty":             {"a.pcap", nil, []string{"is empty (0 bytes)", "capture again"}},
		"empty gz":          {"a.pcap.gz", compressGzip(nil), []string{"is empty inside gzip"}},
		"empty zst":         {"a.pcap.zst", compressZstd(t, nil), []string{"is empty"}},
		"one byte":          {"a.pcap", []byte{0xd4}, []string{"is not a capture: it begins with d4"}},
		"text":              {"a.pcap", []byte("12:00:01 IP 10.0.0.1 > 10.0.0.2: UDP\n"), []string{"it looks like text", "pcap, pcapng and .mscap are read"}},
		"text in .mscap":    {"a.mscap", []byte("1,2\n3,4\n5,6\n7,8\n"), []string{"it looks like text"}},
		"ELF":               {"a", elf, []string{"a program or library (ELF)"}},
		"ELF in gz":         {"a.gz", compressGzip(elf[:4096]), []string{"is not a capture inside gzip: it looks like a program"}},
		"Parquet":           {"a", append([]byte("PAR1"), noise...), []string{"a Parquet file"}},
		"xz":                {"a.pcap.xz", append([]byte("\xfd7zXZ\x00"), noise...), []string{"begins like xz, but cannot be decompressed"}},
		"lz4 that is not":   {"a", append([]byte("\x04\x22\x4d\x18"), noise...), []string{"begins like lz4, but cannot be decompressed"}},
		"K12":               {"a", append([]byte("\x00\x00\x02\x00\x12\x05\x00\x10"), noise...), []string{"a capture of a Tektronix K12", "editcap -F nsecpcap -T ether"}},
		"LANalyzer, cyclic": {"a", append([]byte("\x07\x10"), noise...), []string{"a capture of LANalyzer", "editcap -F nsecpcap"}},
		"zst in gz":         {"a", compressGzip(compressZstd(t, cut)), []string{"zstd data", "compressed twice"}},
		"gz in zst":         {"a", compressZstd(t, compressGzip(cut)), []string{"gzip data", "compressed twice"}},
		"unknown":           {"a", noise, []string{"it begins with de ad be ef 01 02 03 04", "name them .mscap"}},
		"zeros":             {"a", make([]byte, 4096), []string{"only zeros"}},
		"pcap head cut":     {"a", cut[:20], []string{"is truncated: its header has 20 bytes instead of 24"}},
		"pcap 3.4":          {"a", old, []string{"pcap file of version 3.4", "editcap"}},
		"pcapng head cut":   {"a", ngCut[:20], []string{"section header has 20 bytes instead of 28"}},
		"pcapng, no order":  {"a", ngBad, []string{"is a pcapng file that cannot be read", "without a byte order"}},
		"gzip that is not":  {"a", []byte{0x1f, 0x8b, 8, 0xff, 1, 2, 3}, []string{"begins like gzip, but cannot be decompressed"}},
		"zstd that is not":  {"a", []byte{0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, []string{"begins like zstd, but cannot be decompressed"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, c.file, c.data)
			_, err := packetfile.Open(path)
			refused(t, path, err, c.say...)
		})
	}
}

func refused(t *testing.T, path string, err error, say ...string) {
	t.Helper()
	if exit.Code(err) != exit.Wrong {
		t.Fatalf("%s: %v, want exit code 2", path, err)
	}
	for _, text := range append(say, path) {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("says %q, want %q in it", err, text)
		}
	}
}

// TestNotAFile: files that cannot be read twice are refused without waiting.
func TestNotAFile(t *testing.T) {
	dir := t.TempDir()
	fifo, socket, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "socket"), filepath.Join(dir, "link")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := os.Symlink(fifo, link); err != nil {
		t.Fatal(err)
	}
	for path, say := range map[string]string{
		dir: "is a directory; name the capture in it", fifo: "is a pipe", link: "is a pipe", socket: "is a socket",
		"/dev/null": "is a device", filepath.Join(dir, "none"): "there is no such file",
	} {
		_, err := packetfile.Open(path)
		refused(t, path, err, say)
	}
}
