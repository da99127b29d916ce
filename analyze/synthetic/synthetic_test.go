package synthetic_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/analyze/synthetic"
)

type packet struct {
	timeNs int64
	data   []byte
}

func readAll(t *testing.T, path string) []packet {
	t.Helper()
	r, err := packetfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []packet
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, packet{p.TimeNs, slices.Clone(p.Data)})
	}
	if r.Damage() != nil {
		t.Fatalf("%s: %v", path, r.Damage())
	}
	return all
}

func pair(t *testing.T, c synthetic.Config) (synthetic.Truth, []packet, []packet) {
	t.Helper()
	dir := t.TempDir()
	pre, post := filepath.Join(dir, "pre.pcap"), filepath.Join(dir, "post.pcap.zst")
	layout := packetfile.Layout{Format: packetfile.Pcap}
	truth, err := synthetic.WritePair(c, pre, layout, post, layout)
	if err != nil {
		t.Fatal(err)
	}
	return truth, readAll(t, pre), readAll(t, post)
}

// key is unique for each packet.
func key(p packet) string { return string(p.data[12:]) }

// TestTruth finds in the captures what happened, the slow way.
func TestTruth(t *testing.T) {
	truth, pre, post := pair(t, synthetic.Config{
		Seed: 7, Packets: 20_000, GapNs: 10_000, Poisson: true, PauseEvery: 5000, PauseNs: 10_000_000,
		LatencyNs: 3000, JitterNs: 500, TailRatio: 0.001, TailNs: 100_000,
		ReorderRatio: 0.01, ReorderNs: 3_000_000, LossRatio: 0.02, LossRun: 4,
		DuplicatePre: 0.003, DuplicatePost: 0.005,
		OffsetNs: 90e9, Kinds: synthetic.AllKinds(), Flows: 3, FirstID: math.MaxUint32 - 100, Keep: true,
	})
	sent := map[string]int{}
	found := synthetic.Truth{Sent: truth.Sent, Pre: uint64(len(pre)), Post: uint64(len(post))}
	for _, p := range pre {
		if _, again := sent[key(p)]; again {
			found.DuplicatesPre++
			continue
		}
		sent[key(p)] = len(found.SentNs)
		found.SentNs = append(found.SentNs, p.timeNs)
		found.LatencyNs = append(found.LatencyNs, synthetic.Lost)
	}
	newest := -1
	for i, p := range post {
		if i > 0 && p.timeNs < post[i-1].timeNs {
			t.Fatalf("packet %d of the second capture goes back in time", i)
		}
		number, ok := sent[key(p)]
		switch {
		case !ok:
			t.Fatalf("packet %d arrived, but was not sent", i)
		case found.LatencyNs[number] != synthetic.Lost:
			found.DuplicatesPost++
			continue
		}
		found.LatencyNs[number] = p.timeNs - found.SentNs[number]
		found.Received++
		if number < newest {
			found.Reordered++
		}
		newest = max(newest, number)
	}
	found.Lost = found.Sent - found.Received
	if diff := cmp.Diff(truth, found); diff != "" {
		t.Errorf("truth and captures (-said +found):\n%s", diff)
	}
	for what, counts := range map[string][2]float64{
		"lost":                   {float64(truth.Lost), 0.02},
		"reordered":              {float64(truth.Reordered), 0.01 * 0.98},
		"twice at the first":     {float64(truth.DuplicatesPre), 0.003},
		"twice at the second":    {float64(truth.DuplicatesPost), 0.005 * 0.98},
		"sent, all of them that": {float64(truth.Sent), 1},
	} {
		if got, want := counts[0]/20_000, counts[1]; got < want/2 || got > want*2 {
			t.Errorf("%s: %v of the packets, want about %v", what, got, want)
		}
	}
	latencies := slices.DeleteFunc(slices.Clone(truth.LatencyNs), func(l int64) bool { return l == synthetic.Lost })
	if least := slices.Min(latencies); least < 90e9+3000 || least > 90e9+3100 {
		t.Errorf("least latency %d, want the clocks' offset of 90 s and 3 µs", least)
	}
}

// TestFramesAreRight decodes the frames with gopacket, which checks their checksums.
func TestFramesAreRight(t *testing.T) {
	for _, c := range []synthetic.Config{
		{Packets: 5000, Kinds: synthetic.AllKinds(), Flows: 2},
		{Packets: 5000, Kinds: synthetic.AllKinds(), Payload: synthetic.MoonSniff, FrameBytes: 1514, Routed: true},
	} {
		_, pre, post := pair(t, c)
		for number, p := range append(pre, post...) {
			kind := c.Kinds[number%5000%len(c.Kinds)]
			decoded := gopacket.NewPacket(p.data, layers.LayerTypeEthernet, gopacket.Default)
			if err := decoded.ErrorLayer(); err != nil && kind != synthetic.NotIP {
				t.Fatalf("packet %d (kind %d): %v", number, kind, err.Error())
			}
			for _, l := range decoded.Layers() {
				if upper, ok := l.(interface {
					SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
				}); ok {
					if err := upper.SetNetworkLayerForChecksum(decoded.NetworkLayer()); err != nil {
						t.Fatal(err)
					}
				}
			}
			err, mismatches := decoded.VerifyChecksums()
			if (err != nil || len(mismatches) > 0) && kind != synthetic.Fragment {
				t.Fatalf("packet %d (kind %d): checksums: %v %+v", number, kind, err, mismatches)
			}
			id := make([]byte, 5)
			binary.LittleEndian.PutUint32(id, uint32(number%5000))
			id[4] = 0x55
			if !bytes.Contains(p.data[12:], id) {
				t.Fatalf("packet %d (kind %d): no id in % x", number, kind, p.data)
			}
			if udp, ok := decoded.Layer(layers.LayerTypeUDP).(*layers.UDP); ok && kind != synthetic.Fragment && len(udp.Payload) < 18 {
				t.Fatalf("packet %d: payload of %d bytes", number, len(udp.Payload))
			}
		}
	}
}

// TestMoonSniffPlace checks the id where MoonSniff expects it: at frame offset 42, followed by
// 0x55.
func TestMoonSniffPlace(t *testing.T) {
	_, pre, _ := pair(t, synthetic.Config{Packets: 3, FirstID: 0x01020304, Payload: synthetic.MoonSniff})
	if got, want := pre[1].data[42:47], []byte{5, 3, 2, 1, 0x55}; !bytes.Equal(got, want) {
		t.Errorf("bytes 42 to 47 are % x, want % x", got, want)
	}
}

func TestClocks(t *testing.T) {
	truth, _, _ := pair(t, synthetic.Config{
		Packets: 1001, GapNs: 1_000_000, LatencyNs: 2000, OffsetNs: -60e9, DriftPPM: 10,
		PostStepAfter: 501, PostStepNs: -5000, Keep: true,
	})
	for number, want := range map[int]int64{0: 2000 - 60e9, 500: 2000 - 60e9 + 5000, 501: 2000 - 60e9 + 10, 1000: 2000 - 60e9 + 10_000 - 5000} {
		if number == 501 {
			want = 2000 - 60e9 + 5010 - 5000
		}
		if got := truth.LatencyNs[number]; got < want-1 || got > want+1 {
			t.Errorf("packet %d: latency by the clocks %d, want %d", number, got, want)
		}
	}
}

func TestBadConfig(t *testing.T) {
	w, err := packetfile.NewWriter(io.Discard, packetfile.Layout{Format: packetfile.Pcap})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []synthetic.Config{
		{LossRatio: 1.5}, {LossRatio: math.NaN()}, {GapNs: -1}, {Flows: -1}, {FrameBytes: 100_000},
		{Packets: 1, StartNs: 1, OffsetNs: -100},
	} {
		if _, err := synthetic.Generate(c, w, w); err == nil {
			t.Errorf("Generate(%+v) took it", c)
		}
	}
}

func BenchmarkGenerate(b *testing.B) {
	pre, _ := packetfile.NewWriter(io.Discard, packetfile.Layout{Format: packetfile.Pcap})
	post, _ := packetfile.NewWriter(io.Discard, packetfile.Layout{Format: packetfile.Pcap})
	_, err := synthetic.Generate(synthetic.Config{Packets: uint64(b.N), LatencyNs: 3000, JitterNs: 500, LossRatio: 0.001}, pre, post)
	if err != nil {
		b.Fatal(err)
	}
}
