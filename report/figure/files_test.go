package figure

import (
	"bytes"
	"compress/gzip"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

func TestPublishedFilesOf004(t *testing.T) {
	dir := filepath.Join(labtest.PublishedData(t), "cgroups-nfv")
	read := func(set, suffix string) Published {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(dir, set, "*"+suffix+".csv.zst"))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s/*%s: %v, %v", set, suffix, found, err)
		}
		p, err := ReadPublished(found[0], set, "004")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for set, packets := range map[string]float64{"v1": 67_116_816, "v2": 67_347_196, "v1_1500byte": 36_116_896} {
		hist := read(set, "hist")
		sum := 0.0
		for _, n := range hist.counts {
			sum += n
		}
		// Some packets of the second capture have no counterpart in the first, and are in no
		// histogram.
		if hist.binNs != 100 || sum > packets || sum < packets*0.9999 {
			t.Errorf("%s: %g packets in bins of %d ns, want about %g in 100 ns", set, sum, hist.binNs, packets)
		}
		worst, percentiles := read(set, "worst"), read(set, "percentiles")
		top := 0.0
		for _, p := range worst.points {
			top = max(top, p.Y)
		}
		if last := percentiles.points[len(percentiles.points)-1]; len(worst.points) != 5000 || math.Abs(last.Y-top) > 1e-9 || last.X > packets*1.1 {
			t.Errorf("%s: the worst of %d is %g, the last percentile %v", set, len(worst.points), top, last)
		}
		rate := read(set, "packetratepre")
		if len(rate.points) != 46 || rate.points[0].X != 0 || rate.points[45].X != 45 {
			t.Errorf("%s: %d seconds, %v", set, len(rate.points), rate.points[0])
		}
		f := mustMake(t, Options{Kind: HDR, Published: []Published{percentiles}})
		if f.Series[0].Source != 1 || f.Sources[0] != "004" || f.X.Max > packets*1.1 {
			t.Errorf("%s: %+v", set, f.Sources)
		}
	}
	v1 := read("v1", "worst")
	if first := v1.points[0]; math.Abs(first.X-1.0) > 0.5 {
		t.Errorf("the first is at %v s", first.X)
	}
}

func TestPublishedFileErrors(t *testing.T) {
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, test := range map[string]struct{ path, want string }{
		"none":     {filepath.Join(t.TempDir(), "none.csv"), "no such file"},
		"folder":   {t.TempDir(), "is a folder"},
		"empty":    {write("a.csv", ""), "no header row"},
		"columns":  {write("b.csv", "a,b\n1,2\n"), "percentile,value,onefraconeminuspercentile"},
		"number":   {write("c.csv", "ts,count\n1,2\n2,x\n"), `c.csv:3: "x" in the column count`},
		"negative": {write("d.csv", "ts,count\n1,-2\n"), "d.csv:2"},
		"rows":     {write("e.csv", "ts,count\n"), "has no rows"},
		"torn":     {write("f.csv", "ts,count\n1,2\n3\n"), "f.csv:3"},
		"gzip":     {write("g.csv.gz", "ts,count\n"), "is not a gzip file"},
		"zstd":     {write("h.csv.zst", "ts,count\n"), "no header row"},
	} {
		_, err := ReadPublished(test.path, "", "")
		if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte("latency,prets,postts,encode\n2000,1700000000000000000,1700000000000002000,00\n1000,1700000001000000000,1700000001000001000,00\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	p, err := ReadPublished(write("i.csv.gz", packed.String()), "", "")
	// Times since 1970 are shifted to the first packet.
	if err != nil || p.Kind != Worst || len(p.points) != 2 || p.points[0] != (Point{0, 2}) || p.points[1] != (Point{1, 1}) || p.Source != "i.csv.gz" {
		t.Errorf("%v %+v", err, p)
	}
}

func FuzzParsePublished(f *testing.F) {
	f.Add("percentile,value,onefraconeminuspercentile\n0.5,10,2\n0.9,20,10\n")
	f.Add("latency_bucket,count\n100,3\n300,1\n")
	f.Add("latency,prets,postts,encode\n5,1,6,00\n")
	f.Add("ts,count\n0,5\n1000000000,6\n")
	f.Add("ts,count\n0\"00")
	f.Add("latency_bucket,count\n0,0")
	f.Add("ts,count\n0,0\n0,1e18\n1e18,0\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePublished(strings.NewReader(text), "fuzz")
		if err != nil {
			return
		}
		made, err := Of(nil, Options{Kind: p.Kind, Published: []Published{p}})
		if err != nil {
			return
		}
		if len(made.Series) == 0 || math.IsNaN(made.Y.Max) || math.IsNaN(made.X.Max) || len(made.X.Ticks)+len(made.Y.Ticks) > 2000 {
			t.Errorf("%+v", made)
		}
	})
}
