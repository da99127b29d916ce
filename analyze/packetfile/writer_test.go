package packetfile_test

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/analyze/packetfile"
)

// fullDisk takes some bytes, and then no more, as a disk.
type fullDisk struct {
	bytes.Buffer
	room int
}

func (d *fullDisk) Write(p []byte) (int, error) {
	n, _ := d.Buffer.Write(p[:min(len(p), d.room-d.Len())])
	if n < len(p) {
		return n, unix.ENOSPC
	}
	return n, nil
}

// TestWrittenIsWhatIsInTheFile: wherever a disk is full, Written has the packets that are whole.
func TestWrittenIsWhatIsInTheFile(t *testing.T) {
	const packets, head = 10, 24
	each := 16 + 60
	for room := range head + packets*each + 1 {
		for _, flushed := range []bool{false, true} {
			disk := &fullDisk{room: room}
			w, err := packetfile.NewWriter(disk, packetfile.Layout{Format: packetfile.Pcap})
			for range packets {
				err = errors.Join(err, w.Write(packetfile.Packet{Data: make([]byte, 60)}))
				if flushed {
					err = errors.Join(err, w.Flush())
				}
			}
			err = errors.Join(err, w.Flush())
			if full := room < head+packets*each; full != errors.Is(err, unix.ENOSPC) {
				t.Fatalf("room for %d bytes: %v", room, err)
			}
			want := packetfile.Written{}
			if room >= head {
				whole := (room - head) / each
				want = packetfile.Written{Packets: uint64(whole), Bytes: int64(head + whole*each)}
			}
			if got := w.Written(); got != want {
				t.Fatalf("room for %d bytes, flushed each time %v: %+v is written, want %+v", room, flushed, got, want)
			}
		}
	}
}
