package extreme

import (
	"encoding/binary"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/klauspost/compress/zstd"

	"nines.dev/nines/test/labtest"
)

func unpacked(t *testing.T, pattern string) io.Reader {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(labtest.PublishedData(t), pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	file, err := os.Open(found[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	decoder, err := zstd.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(decoder.Close)
	return decoder
}

func published(t *testing.T, pattern string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(unpacked(t, pattern)).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", pattern, err)
	}
	return rows[1:]
}

func whole(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// worstOf reads a published list of the worst 5,000 of about ten million packets.
func worstOf(t *testing.T, folder string) Sample {
	rates := published(t, folder+"/*packetratepre.csv.zst")
	begin := whole(t, rates[0][0])
	var worst []Point
	for _, row := range published(t, folder+"/*worst.csv.zst") {
		worst = append(worst, Point{float64(whole(t, row[0])), whole(t, row[1]) - begin})
	}
	total := whole(t, published(t, folder+"/*stats.csv.zst")[0][1])
	return FromWorst(worst, uint64(total), whole(t, rates[len(rates)-1][0])-begin+1e9)
}

// The published percentiles that the worst 5,000 cover can be read off exactly.
func TestDirectAgreesWithPublishedPercentiles(t *testing.T) {
	for _, folder := range []string{"v1", "v2", "v1_1500byte"} {
		s := worstOf(t, "cgroups-nfv/"+folder)
		measured, checked := s.direct(), 0
		for _, row := range published(t, "cgroups-nfv/"+folder+"/*percentiles.csv.zst") {
			p, err := strconv.ParseFloat(row[0], 64)
			if err != nil {
				t.Fatal(err)
			}
			d := measured.at(p)
			if d == nil {
				continue
			}
			checked++
			if d.Value != float64(whole(t, row[1])) {
				t.Errorf("%s: p%v is %v, published %s", folder, 100*p, d.Value, row[1])
			}
		}
		if checked < 20 {
			t.Errorf("%s: only %d percentiles were within reach", folder, checked)
		}
	}
}

// The slowest packets of the published measurements come in clusters: 5,000 of a minute in two to
// eighty, and those of the captures in ten. They come from a few events, not from one distribution,
// and each fit is refused.
func TestPublishedTailsAreRefused(t *testing.T) {
	for _, c := range []struct {
		folder   string
		clusters int // at the lowest threshold, at most
		words    string
	}{
		{"cgroups-nfv/v1", 100, "do not follow"},
		{"cgroups-nfv/v2", 100, "do not follow"},
		{"cgroups-nfv/v1_1500byte", 10, "clusters only"},
	} {
		tail := Of(inBlocks(t, worstOf(t, c.folder)), Options{})
		if tail.Estimate != nil || !refusedFor(tail, c.words) || tail.Ladder[0].Clusters > c.clusters {
			t.Errorf("%s: %+v, refused %q in %d clusters", c.folder, tail.Estimate, tail.Refused, tail.Ladder[0].Clusters)
		}
		if tail.Asked == nil || tail.Asked.High != nil {
			t.Errorf("%s: p99.99999 of %d packets: %+v, want a value that so few clusters do not bound", c.folder, tail.Total, tail.Asked)
		}
	}
	for _, folder := range []string{"dpdk-l2fwd-vm", "dpdk-l2fwd-hw"} {
		s := fromAll(latencies(t, "low-latency/"+folder))
		tail := Of(s, Options{P: 0.999999})
		if tail.Estimate != nil || !refusedFor(tail, "clusters only") || tail.Ladder[0].Clusters > 15 {
			t.Errorf("%s: %+v, refused %q", folder, tail.Estimate, tail.Refused)
		}
	}
}

// stamps returns the times of a small nanosecond capture with short packets: this package may not
// import the project's reader.
func stamps(t *testing.T, pattern string) []int64 {
	t.Helper()
	raw, err := io.ReadAll(unpacked(t, pattern))
	if err != nil {
		t.Fatal(err)
	}
	if binary.LittleEndian.Uint32(raw) != 0xa1b23c4d {
		t.Fatalf("%s begins with %x", pattern, raw[:4])
	}
	var times []int64
	for raw = raw[24:]; len(raw) >= 16; raw = raw[16+binary.LittleEndian.Uint32(raw[8:]):] {
		times = append(times, int64(binary.LittleEndian.Uint32(raw))*1e9+int64(binary.LittleEndian.Uint32(raw[4:])))
	}
	return times
}

// latencies returns those of a pair of captures without loss or reordering.
func latencies(t *testing.T, folder string) (values, times []int64) {
	pre, post := stamps(t, folder+"/latencies-pre-*"), stamps(t, folder+"/latencies-post-*")
	if len(pre) != 300_000 || len(post) != len(pre) {
		t.Fatalf("%d packets before, %d behind", len(pre), len(post))
	}
	for i := range pre {
		if post[i] <= pre[i] {
			t.Fatalf("packet %d arrived before it was sent", i)
		}
		values = append(values, post[i]-pre[i])
	}
	return values, pre
}
