package analyze

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"nines.dev/nines/test/golden"
	"nines.dev/nines/test/labtest"
)

func publishedPair(t *testing.T, name string) (pre, post string) {
	t.Helper()
	dir := filepath.Join(labtest.PublishedData(t), "low-latency", name)
	find := func(pattern string) string {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s in %s: %v, %v", pattern, dir, files, err)
		}
		return files[0]
	}
	return find("latencies-pre-*.pcap.zst"), find("latencies-post-*.pcap.zst")
}

// The table of the published measurements, exact to the nanosecond.
func TestPublishedPercentilesOfLowLatency(t *testing.T) {
	for _, c := range []struct {
		name string
		trim time.Duration
		want []int64 // p50, p90, p99, p99.9, p99.99, p99.999, p99.9999, max
	}{
		{"dpdk-l2fwd-vm", 0, []int64{3338, 3562, 3987, 14725, 17375, 18937, 19150, 19150}},
		{"dpdk-l2fwd-vm", time.Second, []int64{3338, 3562, 3975, 14725, 17562, 19000, 19150, 19150}},
		{"dpdk-l2fwd-hw", 0, []int64{3137, 3174, 3362, 7650, 12462, 13325, 13550, 13550}},
	} {
		for _, key := range Keys() {
			if key == Nines { // it has no stream there but 0, so the ids are the same
				continue
			}
			t.Run(fmt.Sprintf("%s/trim %v/%s", c.name, c.trim, key), func(t *testing.T) {
				pre, post := publishedPair(t, c.name)
				a, err := Analyze(context.Background(), Options{Pre: pre, Post: post, Key: key, Trim: c.trim})
				if err != nil {
					t.Fatal(err)
				}
				defer a.Close()
				var got []int64
				for _, p := range []string{"0.5", "0.9", "0.99", "0.999", "0.9999", "0.99999", "0.999999"} {
					at := slices.IndexFunc(PublishedPercentiles(), func(q PublishedPercentile) bool { return q.Text == p })
					got = append(got, a.Percentiles[at])
				}
				got = append(got, a.Worst[0].LatencyNs)
				if !slices.Equal(got, c.want) {
					t.Errorf("%v, want %v", got, c.want)
				}
				if a.Counts.Pairs != 300000 || a.Counts.Lost != 0 || a.Counts.Again != 0 {
					t.Errorf("%+v", a.Counts)
				}
			})
		}
	}
}

// readPublished returns the decompressed published files of one kind.
func readPublished(t *testing.T, suffix string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(labtest.PublishedData(t), "cgroups-nfv", "*", "*."+suffix+".csv.zst"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	read := make(map[string][]byte)
	for _, f := range files {
		read[f] = decompress(t, f)
	}
	return read
}

func column0(csv []byte) []string {
	var column []string
	for line := range bytes.Lines(csv) {
		text, _, _ := bytes.Cut(line, []byte(","))
		column = append(column, string(text))
	}
	return column[1:]
}

// The list is the published one; -update rewrites it.
func TestPublishedPercentileList(t *testing.T) {
	for file, csv := range readPublished(t, "percentiles") {
		if list := column0(csv); !slices.Equal(list, percentileList) {
			if *golden.Update {
				writePercentileList(t, list)
				return
			}
			t.Errorf("%s has other percentiles; write them with -update", file)
		}
	}
}

func writePercentileList(t *testing.T, list []string) {
	t.Helper()
	old, err := os.ReadFile("percentilelist.go")
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := bytes.Cut(old, []byte("{\n"))
	out := append(bytes.Clone(head), "{\n"...)
	for _, p := range list {
		out = fmt.Appendf(out, "\t%q,\n", p)
	}
	if err := os.WriteFile("percentilelist.go", append(out, "}\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
}

// With any values: the same lines, apart from the numbers.
func TestPercentilesHaveThePublishedForm(t *testing.T) {
	for file, want := range readPublished(t, "percentiles") {
		e := Evaluation{}
		for line := range bytes.Lines(want) {
			if fields := bytes.Split(line, []byte(",")); string(fields[0]) != "percentile" {
				e.Percentiles = append(e.Percentiles, number(t, fields[1]))
			}
		}
		if got := written(t, e.writePercentiles); !bytes.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", file, got, want)
		}
	}
}

func TestTransferRateHasThePublishedForm(t *testing.T) {
	for file, want := range readPublished(t, "transferrate") {
		fields := bytes.Split(bytes.Split(want, []byte("\n"))[1], []byte(","))
		e := Evaluation{
			PreReceivedTrimmed: uint64(number(t, fields[0])), PostReceivedTrimmed: uint64(number(t, fields[1])),
			PreRate: make([]Second, 45), PostRate: make([]Second, 45),
		}
		if got := written(t, e.writeTransferRate); !bytes.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", file, got, want)
		}
	}
}

func written(t *testing.T, write func(*bufio.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	if err := write(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Cached leading digits are right: when they change, before 1970, and with the maximum number of
// digits.
func TestTimesAreWrittenAsTheyAre(t *testing.T) {
	var digits timeDigits
	buffer := make([]byte, 0, longestRow)
	for _, ns := range []int64{
		0, 7, 99_999_999, 100_000_000, 100_000_001, 12, 1_700_000_000_999_999_999, 1_700_000_000_900_000_000, 1_700_000_001_000_000_000,
		1_700_000_000_899_999_999, 1_700_000_001_099_999_999, -1, -1_700_000_000_000_000_000, 5, math.MaxInt64, math.MaxInt64 - 1, minTimeNs, maxTimeNs,
	} {
		if got, want := string(digits.append(buffer, ns, ';')), strconv.FormatInt(ns, 10)+";"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
