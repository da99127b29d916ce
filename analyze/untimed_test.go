package analyze

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/exit"
	"nines.dev/nines/result"
)

// writeUntimed writes packets of a flow that are delayed; those that untimed chooses have no time.
func writeUntimed(t *testing.T, packets int, delayNs int64, untimed func(int) bool) string {
	t.Helper()
	var out bytes.Buffer
	w, err := packetfile.NewWriter(&out, packetfile.Layout{Format: packetfile.Pcapng})
	if err != nil {
		t.Fatal(err)
	}
	for i := range packets {
		frame := packet{from: "10.0.0.1:4000", to: "10.0.1.1:5001", payload: binary.BigEndian.AppendUint32(make([]byte, 8), uint32(i))}.frame()
		p := packetfile.Packet{TimeNs: epoch + int64(i)*1000 + delayNs, Data: frame, Length: uint32(len(frame))}
		if untimed(i) {
			p.TimeNs = packetfile.NoTime
		}
		if err := w.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.pcapng")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPacketsWithoutATimeAreNotLost: what is in both captures has arrived, whatever its time was.
func TestPacketsWithoutATimeAreNotLost(t *testing.T) {
	const packets = 1000
	none := func(int) bool { return false }
	tenth := func(i int) bool { return i%10 == 3 }
	for name, c := range map[string]struct {
		pre, post func(int) bool
		untimed   uint64
	}{
		"in POST": {none, tenth, 100}, "in PRE": {tenth, none, 100}, "in both": {tenth, tenth, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := analyze(t, Options{Pre: writeUntimed(t, packets, 0, c.pre), Post: writeUntimed(t, packets, 700, c.post)})
			want := Counts{Pairs: packets - 100, Untimed: c.untimed}
			if a.Counts != want {
				t.Errorf("%+v, want %+v", a.Counts, want)
			}
			s := a.Summary()
			if s.LostByCounts != 0 || s.Verdict != result.Noisy || !strings.Contains(strings.Join(s.Reasons, " "), "100 packets have no time") {
				t.Errorf("%d lost by counts; %s: %v", s.LostByCounts, s.Verdict, s.Reasons)
			}
			for _, w := range a.Worst {
				if want := uint64(w.PreNs-epoch)/1000 + 1; w.Number != want {
					t.Fatalf("the packet of %d ns has number %d, want %d", w.PreNs-epoch, w.Number, want)
				}
			}
		})
	}
}

// TestACaptureWithoutTimes: there is nothing to evaluate, and no advice on clocks.
func TestACaptureWithoutTimes(t *testing.T) {
	timed := writeUntimed(t, 100, 0, func(int) bool { return false })
	untimed := writeUntimed(t, 100, 0, func(int) bool { return true })
	for _, o := range []Options{{Pre: timed, Post: untimed}, {Pre: untimed, Post: timed}} {
		_, err := Analyze(context.Background(), o)
		if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), untimed+": has no times") {
			t.Errorf("%v", err)
		}
	}
}
