package result

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// somePackets are rows with every third packet lost and every tenth duplicated.
func somePackets(n int) []Packet {
	rows := make([]Packet, n)
	for i := range rows {
		rows[i] = Packet{ID: uint32(i), Flow: uint32(i % 3), IntendedNs: int64(i) * 1000, TxNs: int64(i)*1000 + 50}
		if i%3 == 2 {
			continue
		}
		rx, latency, gap, arrival := int64(i)*1000+3000, int64(3000), uint32(80), uint32(i-i/3)
		rows[i].RxNs, rows[i].LatencyNs, rows[i].PollGapNs, rows[i].Arrival = &rx, &latency, &gap, &arrival
		if i%10 == 0 {
			rows[i].Duplicates = 1
		}
	}
	return rows
}

func inBatches(rows []Packet, size int) func(func([]Packet) error) error {
	return func(write func([]Packet) error) error {
		for at := 0; at < len(rows); at += size {
			if err := write(rows[at:min(at+size, len(rows))]); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestPacketsAreReadAsTheyWereWritten(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	// More than one row group; and no rows.
	for _, count := range []int{rowsPerGroup + 1234, 0} {
		rows := somePackets(count)
		r := record(1, 100)
		r.Packets = &Packets{Complete: count > 0, Batches: inBatches(rows, 1000)}
		trial := mustAdd(t, w, r)
		opened := mustOpen(t, w.Dir())
		at := 0
		complete, err := opened.TrialFolder(trial.ID).Packets(func(got []Packet) error {
			for _, row := range got {
				if !reflect.DeepEqual(row, rows[at]) {
					t.Fatalf("row %d is %+v, want %+v", at, row, rows[at])
				}
				at++
			}
			return nil
		})
		if err != nil || at != count || complete != (count > 0) {
			t.Errorf("read %d rows of %d, complete %v, %v", at, count, complete, err)
		}
	}
}

func TestATrialWithoutPackets(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	trial := mustAdd(t, w, record(1, 100))
	opened := mustOpen(t, w.Dir())
	if _, err := opened.TrialFolder(trial.ID).Packets(nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// An error while packets are written leaves no trial, and no part of one.
func TestPacketsThatCannotBeReadBackLeaveNoTrial(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	r := record(1, 100)
	broken := errors.New("the recording is gone")
	r.Packets = &Packets{Batches: func(write func([]Packet) error) error {
		return errors.Join(write(somePackets(10)), broken)
	}}
	if _, err := w.AddTrial(r); !errors.Is(err, broken) || !strings.Contains(err.Error(), PacketsFile) {
		t.Errorf("%v", err)
	}
	left, err := filepath.Glob(filepath.Join(w.Dir(), "trials", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestDamagedPacketsAreNamed(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	r := record(1, 100)
	r.Packets = &Packets{Batches: inBatches(somePackets(5000), 1000)}
	trial := mustAdd(t, w, r)
	path := filepath.Join(w.Dir(), "trials", trial.ID, PacketsFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	opened := mustOpen(t, w.Dir())
	for name, content := range map[string][]byte{
		"empty": nil, "cut off": whole[:len(whole)/2], "no parquet": []byte("id,flow\n1,2\n"),
	} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := opened.TrialFolder(trial.ID).Packets(func([]Packet) error { return nil })
		if err == nil || !strings.Contains(err.Error(), filepath.Join("trials", trial.ID, PacketsFile)+" is damaged") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkWritePackets(b *testing.B) {
	rows := somePackets(1_000_000)
	for b.Loop() {
		w := &countingWriter{}
		if err := writePackets(w, &Packets{Batches: inBatches(rows, 4096)}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(w.bytes)/float64(len(rows)), "bytes/packet")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/packet")
}

type countingWriter struct{ bytes int }

func (c *countingWriter) Write(p []byte) (int, error) {
	c.bytes += len(p)
	return len(p), nil
}
