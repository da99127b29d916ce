package packetfile

import (
	"encoding/binary"
	"fmt"
	"strings"

	"nines.dev/nines/terminal"
)

// MoonSniff's own files: records without a file header, {u64 nanoseconds, u32 packet id}, both
// little-endian. They have no magic number, so only their name shows what they are.
const moonSniffBytes = 12

// moonSniffName reports whether a file is named .mscap, perhaps with a compression suffix.
func moonSniffName(path string) bool {
	name := strings.ToLower(path)
	for _, suffix := range []string{".gz", ".zst", ".zstd", ".lz4", ".xz"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return strings.HasSuffix(name, ".mscap")
}

func (r *Reader) beginMoonSniff() error {
	// A file recognised as something else is not read as times and ids.
	if what := looksLike(r.window.data[:r.window.end]); what != "" && r.window.end > 0 {
		return r.notCapture()
	}
	r.info.Format, r.info.Resolution, r.info.LinkType = MoonSniff, Nanoseconds, MoonSniffID
	r.info.Interfaces = []Interface{{LinkType: MoonSniffID, Resolution: Nanoseconds}}
	r.parse = (*Reader).parseMoonSniff
	return nil
}

func (r *Reader) parseMoonSniff(out []Packet) int {
	w := &r.window
	if !w.need(1) {
		return r.ended()
	}
	if !w.need(moonSniffBytes) {
		return r.cut(fmt.Sprintf("record %s (%d of %d bytes)", terminal.Grouped(r.read+1), w.end-w.at, moonSniffBytes))
	}
	n := takeMoonSniff(w.data[w.at:w.end], out)
	if n == 0 {
		if w.need(2*moonSniffBytes) && isZero(w.data[w.at+moonSniffBytes:][:moonSniffBytes]) {
			return r.broken(fmt.Sprintf("record %s and the next contain only zeros, as in a sparse file or after a crash", terminal.Grouped(r.read+1)), "")
		}
		// A clock that started at 0, and the first packet.
		out[0] = Packet{Data: w.data[w.at+8:][:4:4]}
		n = 1
	}
	w.at += n * moonSniffBytes
	return n
}

// takeMoonSniff takes records up to one of all zeros.
func takeMoonSniff(data []byte, out []Packet) int {
	n := min(len(out), len(data)/moonSniffBytes)
	for i := range n {
		record := data[i*moonSniffBytes:][:moonSniffBytes:moonSniffBytes]
		time := binary.LittleEndian.Uint64(record)
		if time == 0 && isZero(record[8:]) {
			return i
		}
		out[i] = Packet{TimeNs: int64(time), Data: record[8:]}
	}
	return n
}

func isZero(data []byte) bool {
	for _, b := range data {
		if b != 0 {
			return false
		}
	}
	return true
}
