package packetfile

import (
	"bytes"
	"fmt"

	"nines.dev/nines/exit"
)

// byEditcap is the remedy for a capture that Wireshark's editcap reads.
const byEditcap = "convert it: editcap -F nsecpcap FILE NEW"

// asEthernet is the remedy if the file has no link type for all packets.
const asEthernet = "convert it: editcap -F nsecpcap -T ether FILE NEW"

// kinds are file types that people mistake for captures, by their first bytes.
var kinds = []struct {
	magic  string
	what   string
	remedy string
}{
	{"\x7fELF", "a program or library (ELF)", ""},
	{"PAR1", "a Parquet file", ""},
	{"BZh", "bzip2 data", "decompress it, or compress it with zstd"},
	{"PK\x03\x04", "a zip archive", "unpack it"},
	{"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "unpack it"},
	{"SQLite format 3\x00", "an SQLite database", ""},
	{"%PDF", "a PDF document", ""},
	{"\x89PNG", "a PNG image", ""},
	{"snoop\x00\x00\x00", "a capture of Solaris snoop", byEditcap},
	{"TRSNIFF data", "a capture of Sniffer (DOS)", byEditcap},
	{"XCP\x00", "a capture of Sniffer (Windows) or NetXRay", byEditcap},
	{"ObserverPktBuffer", "a capture of Observer", byEditcap},
	{"\x01\x10", "a capture of LANalyzer", byEditcap}, // a record of the type 0x1001
	{"\x07\x10", "a capture of LANalyzer", byEditcap},
	{"\xaa\xaa\xaa\xaa", "a capture of 5View", byEditcap},
	{"\x00\x00\x02\x00\x12\x05\x00\x10", "a capture of a Tektronix K12", asEthernet},
	{"+---------+---------------+----------+", "the text of a Tektronix K12", asEthernet},
	{"\x05VNF", "a capture of Visual Networks", byEditcap},
	{"TR\x00d", "a trace of HP-UX nettl", asEthernet},
	{"GMBU", "a capture of Microsoft Network Monitor", byEditcap},
	{"RTSS", "a capture of Microsoft Network Monitor", byEditcap},
	{"\x1f\x8b", "gzip data", "it is compressed twice; decompress it once"},
	{"\x28\xb5\x2f\xfd", "zstd data", "it is compressed twice; decompress it once"},
	{"\xfd7zXZ\x00", "xz data", "it is compressed twice; decompress it once"},
	{"\x04\x22\x4d\x18", "lz4 data", "it is compressed twice; decompress it once"},
}

// looksLike says what bytes seem to be; empty if unknown.
func looksLike(head []byte) string { what, _ := recognised(head); return what }

func recognised(head []byte) (what, remedy string) {
	for _, k := range kinds {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return k.what, k.remedy
		}
	}
	switch {
	case len(head) >= 262 && string(head[257:262]) == "ustar":
		return "a tar archive", "unpack it"
	case len(head) > 0 && isZero(head):
		return "only zeros, as in a sparse file or after a crash", ""
	case isText(head):
		return "text", ""
	}
	return "", ""
}

// isText reports whether there are only printable ASCII, tabs and line ends.
func isText(head []byte) bool {
	for _, b := range head {
		if (b < 0x20 || b > 0x7e) && b != '\n' && b != '\r' && b != '\t' {
			return false
		}
	}
	return len(head) > 0
}

// lookBytes is how much of a file is examined to recognise it.
const lookBytes = 512

// notCapture returns an error that says what the file is instead.
func (r *Reader) notCapture() error {
	w := &r.window
	w.need(lookBytes)
	head := w.data[:min(w.end, lookBytes)]
	if err := r.source.raw.err; err != nil {
		return fmt.Errorf("read %s: %w", r.source.path, err)
	}
	inside := ""
	if r.source.compression != Plain {
		inside = " inside " + string(r.source.compression)
	}
	const remedy = "pcap, pcapng and .mscap are read, plain or compressed with gzip, zstd, lz4 or xz"
	if len(head) == 0 {
		return exit.Wrongf("%s: is empty%s; the capture was not written; capture again", r.source.path, inside)
	}
	what, specific := recognised(head)
	switch {
	case what == "":
		return exit.Wrongf("%s: is not a capture%s: it begins with % x; %s; MoonSniff's files have no signature; name them .mscap", r.source.path, inside, head[:min(len(head), 8)], remedy)
	case specific == "":
		specific = remedy
	}
	return exit.Wrongf("%s: is not a capture%s: it looks like %s; %s", r.source.path, inside, what, specific)
}
