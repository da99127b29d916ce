package result

import "testing"

func TestPairIsReadAsItWasWritten(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	r := record(1, 100)
	least := int64(700)
	r.Pair = &Pair{
		Pre: "a.pcap", Post: "b.pcap",
		Series: PairSeries{StepNs: 1000, Sent: []uint64{1, 2}, Lost: []uint64{0, 2}, LeastNs: []*int64{&least, nil},
			P50Ns: []*int64{&least, nil}, P99Ns: []*int64{nil, nil}, MostNs: []*int64{&least, nil}, ClockNs: []*int64{}},
		Slowest: []SlowPacket{{LatencyNs: 700, PreNs: 5, PostNs: 705, PreFrame: 1, PostFrame: 1, Flow: "192.0.2.1:9 > 192.0.2.2:9 UDP"}},
	}
	keptAsWritten(t, w, r, PairFile, Folder.Pair, r.Pair, PairSchema, "slowest")
}
