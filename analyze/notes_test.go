package analyze

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/analyze/packetfile"
)

// TestNotesOfOddCaptures: coarse times and unknown packets are reported.
func TestNotesOfOddCaptures(t *testing.T) {
	const radio = 105 // IEEE 802.11
	layout := packetfile.Layout{Format: packetfile.Pcap, Interfaces: []packetfile.Interface{{LinkType: radio, Resolution: packetfile.Microseconds}}}
	write := func(name string, later int64) string {
		path := filepath.Join(t.TempDir(), name)
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		w, err := packetfile.NewWriter(file, layout)
		if err != nil {
			t.Fatal(err)
		}
		for i := range int64(100) {
			data := make([]byte, 80)
			data[20] = byte(i)
			if err := w.Write(packetfile.Packet{TimeNs: 1_700_000_000e9 + i*1e6 + later, Data: data}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, err := Analyze(t.Context(), Options{Pre: write("pre", 0), Post: write("post", 5000)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	notes := strings.Join(a.Notes(), "\n")
	for _, say := range []string{"packets of link type 105: nines can compare only their first bytes", "are in steps of 1µs: each latency is right to ± 1µs"} {
		if strings.Count(notes, say) != 2 {
			t.Errorf("the notes do not say %q of both:\n%s", say, notes)
		}
	}
	if a.Counts.Pairs != 100 {
		t.Errorf("%d pairs, want 100", a.Counts.Pairs)
	}
}
