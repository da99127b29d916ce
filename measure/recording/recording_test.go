package recording

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/result"
)

// A tick is half a nanosecond here; the base is tick 1000 at 5000 ns, and the first packet was due
// at 6000 ns.
const (
	baseTicks = 1000
	startNs   = 6000
)

type rec struct {
	id, before uint32
	atNs       int64 // since the first packet was due
}

func ticksAt(atNs int64) uint64 { return uint64(baseTicks + 2*(startNs-5000+atNs)) }

func encode(kind uint32, flows uint32, recs []rec) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(magic), version)
	b = binary.LittleEndian.AppendUint32(b, kind)
	for _, v := range []uint64{baseTicks, 5000, 1 << (tickShift - 1), startNs} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = binary.LittleEndian.AppendUint32(b, flows)
	b = append(b, make([]byte, 12)...)
	for _, r := range recs {
		b = binary.LittleEndian.AppendUint32(b, r.id)
		b = binary.LittleEndian.AppendUint32(b, r.before)
		b = binary.LittleEndian.AppendUint64(b, ticksAt(r.atNs))
	}
	return b
}

func write(t *testing.T, kind uint32, flows uint32, recs []rec) *os.File {
	t.Helper()
	return file(t, encode(kind, flows, recs))
}

func file(t *testing.T, content []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recording")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // read only
	return f
}

func open(t *testing.T, sent, received []rec, flows uint32) *Recording {
	t.Helper()
	r, err := Open(write(t, kindSent, flows, sent), write(t, kindReceived, flows, received))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Packet 2 was refused by the port and never sent; 1 is lost, 4 overtook 3 and arrived three times;
// 0 was sent 10 ns late; by its stamps, 5 arrived before it was sent.
func TestRowsAndMetrics(t *testing.T) {
	sent := []rec{{0, 10, 10}, {1, 0, 100}, {3, 0, 300}, {4, 0, 400}, {5, 0, 500}}
	received := []rec{{0, 5, 60}, {4, 6, 450}, {3, 6, 450}, {4, 7, 480}, {4, 8, 490}, {5, 9, 499}}
	r := open(t, sent, received, 2)
	if r.Sent() != 5 || r.Received() != 4 || r.Duplicates() != 2 || r.Unknown != 0 {
		t.Errorf("sent %d, received %d, duplicates %d, unknown %d", r.Sent(), r.Received(), r.Duplicates(), r.Unknown)
	}
	type row struct {
		id, flow                  uint32
		intended, tx, rx, latency int64
		gap, arrival, duplicates  uint32
		lost                      bool
	}
	want := []row{
		{id: 0, flow: 0, intended: 0, tx: 10, rx: 60, latency: 60, gap: 5, arrival: 0},
		{id: 1, flow: 1, intended: 100, tx: 100, lost: true},
		{id: 3, flow: 1, intended: 300, tx: 300, rx: 450, latency: 150, gap: 6, arrival: 2},
		{id: 4, flow: 0, intended: 400, tx: 400, rx: 450, latency: 50, gap: 6, arrival: 1, duplicates: 2},
		{id: 5, flow: 1, intended: 500, tx: 500, rx: 499, latency: 0, gap: 9, arrival: 3},
	}
	var got []row
	err := r.Packets(true).Batches(func(rows []result.Packet) error {
		for _, p := range rows {
			g := row{id: p.ID, flow: p.Flow, intended: p.IntendedNs, tx: p.TxNs, duplicates: p.Duplicates, lost: p.RxNs == nil}
			if !g.lost {
				g.rx, g.latency, g.gap, g.arrival = *p.RxNs, *p.LatencyNs, *p.PollGapNs, *p.Arrival
			}
			got = append(got, g)
		}
		return nil
	})
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d rows, %v", len(got), err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("row %d: %+v, want %+v", i, got[i], want[i])
		}
	}

	m := r.Metrics(func(n int) string { return []string{"even", "odd"}[n] })
	if m.All.Lost != 1 || m.All.Duplicates != 2 || m.All.Reordering.Reordered != 1 || *m.All.Latency.Max != 150 || *m.All.Latency.Min != 0 {
		t.Errorf("all: %+v", m.All)
	}
	if len(m.Flows) != 2 {
		t.Fatalf("%d flows", len(m.Flows))
	}
	even, odd := m.Flows[0], m.Flows[1]
	if even.Flow != "even" || even.Sent != 2 || even.Lost != 0 || even.Duplicates != 2 || *even.Latency.Max != 60 {
		t.Errorf("even: %+v", even)
	}
	if odd.Flow != "odd" || odd.Sent != 3 || odd.Lost != 1 || odd.Duplicates != 0 || odd.Reordering.Reordered != 0 {
		t.Errorf("odd: %+v", odd)
	}
}

func TestOneFlowHasNoFlows(t *testing.T) {
	r := open(t, []rec{{0, 0, 0}}, []rec{{0, 0, 5}}, 1)
	if m := r.Metrics(nil); m.Flows != nil || *m.All.Latency.Max != 5 {
		t.Errorf("%+v", m)
	}
}

func TestNothingWasSent(t *testing.T) {
	r := open(t, nil, nil, 1)
	if m := r.Metrics(nil); m.All.Sent != 0 || m.All.Latency.Count != 0 {
		t.Errorf("%+v", m)
	}
}

// The send record was lost, but the packet arrived.
func TestPacketsThatNobodySentAreCounted(t *testing.T) {
	r := open(t, []rec{{0, 0, 0}, {2, 0, 20}}, []rec{{0, 0, 5}, {1, 0, 15}, {2, 0, 25}, {9, 0, 30}, {math.MaxUint32, 0, 40}}, 1)
	if r.Unknown != 3 || r.Received() != 2 {
		t.Errorf("unknown %d, received %d", r.Unknown, r.Received())
	}
}

func TestFilesThatAreNoRecordingAreRefused(t *testing.T) {
	good := func() *os.File { return write(t, kindReceived, 1, nil) }
	for name, test := range map[string]struct {
		sent *os.File
		want string
	}{
		"empty":         {file(t, nil), "not finished"},
		"no header":     {file(t, make([]byte, 200)), "not finished"},
		"another magic": {file(t, append([]byte("ELSEWISE"), make([]byte, 100)...)), `"ELSEWISE"`},
		"the received":  {good(), "kind 2 instead"},
		"no flows":      {write(t, kindSent, 0, nil), "0 flows"},
		"many flows":    {write(t, kindSent, 65536, nil), "65536 flows"},
		"unordered":     {write(t, kindSent, 1, []rec{{3, 0, 0}, {3, 0, 1}}), "damaged"},
	} {
		if _, err := Open(test.sent, good()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// A full disk truncated the last record.
func TestTheRestOfACutRecordIsPassedOver(t *testing.T) {
	whole, err := os.ReadFile(write(t, kindSent, 1, []rec{{0, 0, 0}, {1, 0, 10}}).Name())
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(file(t, whole[:len(whole)-3]), write(t, kindReceived, 1, nil))
	if err != nil || r.Sent() != 1 {
		t.Fatalf("%v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// Whatever the files hold, each packet has one row, and every received packet was sent.
func FuzzRecording(f *testing.F) {
	f.Add(encode(kindSent, 2, []rec{{0, 10, 10}, {1, 0, 100}, {3, 0, 300}}), encode(kindReceived, 2, []rec{{1, 1, 150}, {0, 2, 151}, {1, 2, 152}, {7, 0, 0}}))
	f.Add(encode(kindSent, 1, nil), []byte(magic))
	f.Fuzz(func(t *testing.T, sent, received []byte) {
		r := &Recording{duplicates: make(map[uint32]uint32), sent: records{mapped: sent}, received: records{mapped: received}}
		if r.sent.parse(kindSent) != nil || r.received.parse(kindReceived) != nil || r.check() != nil {
			return
		}
		r.match()
		var rows, came uint64
		err := r.Packets(true).Batches(func(batch []result.Packet) error {
			for _, p := range batch {
				rows++
				if p.RxNs != nil {
					came++
				}
			}
			return nil
		})
		if err != nil || rows != r.Sent() || came != r.Received() || came+r.Duplicates()+r.Unknown != uint64(r.received.len()) {
			t.Errorf("%d rows of %d, %d received of %d, %d duplicates, %d unknown, %v", rows, r.Sent(), came, r.Received(), r.Duplicates(), r.Unknown, err)
		}
		if r.Flows() < 100 {
			r.Metrics(func(int) string { return "" })
		}
	})
}
