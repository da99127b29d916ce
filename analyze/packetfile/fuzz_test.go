package packetfile_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/exit"
)

// fuzzRead reads any file and checks the Reader's promises.
func fuzzRead(t *testing.T, path string, data []byte, open func(string) (*packetfile.Reader, error)) []packetfile.Packet {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := open(path)
	if err != nil {
		if exit.Code(err) != exit.Wrong {
			t.Fatalf("%T: %v", err, err)
		}
		return nil
	}
	defer r.Close()
	var all []packetfile.Packet
	limit := 1 << 16 // limit of decompressed bytes
	for len(all) < limit {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Data) > 262_144 || r.Info().Format != packetfile.MoonSniff && int(p.Length) < len(p.Data) || int(p.Interface) >= len(r.Info().Interfaces) {
			t.Fatalf("packet %d: %d bytes of %d, interface %d", len(all), len(p.Data), p.Length, p.Interface)
		}
		p.Data = bytes.Clone(p.Data)
		all = append(all, p)
	}
	if len(all) == limit {
		return all
	}
	if d := r.Damage(); d != nil && (d.Packets != uint64(len(all)) || d.Offset < 0 || d.LostBytes < -1 || d.LostBytes > int64(len(data)) || d.String() == "") {
		t.Fatalf("%d packets, %d bytes: %+v", len(all), len(data), d)
	}
	return all
}

// FuzzOpen reads files of any kind; if gopacket reads a file to the end too, the packets must
// agree.
func FuzzOpen(f *testing.F) {
	for _, layout := range layouts() {
		data := encode(f, layout, random(2, 5, 40, len(layout.Interfaces)))
		f.Add(data)
		f.Add(compressZstd(f, data))
		for _, name := range []string{"lz4", "xz"} {
			if path, err := exec.LookPath(name); err == nil {
				c := exec.Command(path, "-c")
				c.Stdin = bytes.NewReader(data)
				out, err := c.Output()
				if err != nil {
					f.Fatal(err)
				}
				f.Add(out)
			}
		}
		f.Add(compressGzip(data))
		f.Add(data[:len(data)-5])
	}
	b := little()
	b.section()
	b.anInterface(1, 20, b.option(9, []byte{0x80 | 20}), b.option(14, make([]byte, 8)))
	b.enhanced(0, 1<<40, []byte("enhanced"), 8)
	b.block(2, append(b.u16(0, 0), b.u32(0, 5, 3, 9, 0x123456)...))
	b.block(3, b.u32(2, 0x1234))
	b.block(5, append(b.u32(0, 0, 0), b.option(5, make([]byte, 8))...))
	b.block(0xbad, make([]byte, 8))
	f.Add(b.data)
	f.Add(append(b.u32(0xa1b2cd34, 0x40002, 0, 0, 65535, 1, 1, 2, 4, 4, 1, 2), "data"...))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		ours := fuzzRead(t, filepath.Join(dir, "x"), data, packetfile.Open)
		if len(data) > 4 && data[0] == 0x0a || bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
			return // gopacket treats damaged sections differently, and handles gzip itself
		}
		if theirs, err := gopacketReads(data); err == nil && len(theirs) > len(ours) {
			zero := theirs[len(ours)] // only records of zeros may differ
			if zero.TimeNs != 0 || len(zero.Data) != 0 {
				t.Fatalf("gopacket read %d packets, we %d", len(theirs), len(ours))
			}
		} else if err == nil {
			for i, p := range theirs { // it counts more than 4 s of fraction in 32 bits
				if apart := ours[i].TimeNs - p.TimeNs; apart%(1<<32) == 0 {
					theirs[i].TimeNs = ours[i].TimeNs
				}
			}
			samePackets(t, "beside gopacket", theirs, ours[:len(theirs)])
		}
	})
}

// FuzzMoonSniff reads anything as MoonSniff records.
func FuzzMoonSniff(f *testing.F) {
	f.Add(make12(5))
	f.Add(make12(3)[:30])
	f.Add(append(make12(3), make([]byte, 48)...))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzRead(t, filepath.Join(dir, "x.mscap"), data, packetfile.OpenMoonSniff)
	})
}
