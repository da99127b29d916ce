package analyze

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/test/labtest"
)

// fileSet holds the published files of one capture by name suffix.
type fileSet map[string][]byte

// rows returns a file's columns as numbers, without the header; 0 if not an integer.
func (s fileSet) rows(t *testing.T, suffix string) [][]int64 {
	t.Helper()
	raw, ok := s[suffix]
	if !ok {
		t.Fatalf("there is no %s", suffix)
	}
	var rows [][]int64
	for i, line := range strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n") {
		if i == 0 {
			continue
		}
		var row []int64
		for _, field := range strings.Split(line, ",") {
			if strings.Trim(field, "0123456789-") != "" {
				row = append(row, 0)
				continue
			}
			row = append(row, number(t, []byte(field)))
		}
		rows = append(rows, row)
	}
	return rows
}

func sumOf(rows [][]int64, column int) (sum int64) {
	for _, r := range rows {
		sum += r[column]
	}
	return sum
}

// holdInvariants checks the files of a capture against each other.
func holdInvariants(t *testing.T, s fileSet) {
	t.Helper()
	stats := s.rows(t, "stats")[0]
	for i, side := range []string{"pre", "post"} {
		if got := sumOf(s.rows(t, "packetrate"+side), 1); got != stats[i] {
			t.Errorf("the packet rate of %s has %d packets, the stats %d", side, got, stats[i])
		}
		if got := sumOf(s.rows(t, "jitter"+side), 1); got != stats[i]-1 {
			t.Errorf("%d gaps of %s, of %d packets", got, side, stats[i])
		}
	}
	histogram, worst := s.rows(t, "hist"), s.rows(t, "worst")
	pairs := sumOf(histogram, 1)
	if pairs > stats[1] {
		t.Errorf("%d pairs, of %d packets", pairs, stats[1])
	}
	for i, row := range s.rows(t, "percentiles") {
		p, value := PublishedPercentiles()[i].P, row[1]
		rank := int64(max(1, ceil(p*float64(pairs))))
		// In the bucket that contains this rank.
		seen := int64(0)
		for _, b := range histogram {
			if seen += b[1]; seen >= rank {
				if value < b[0] || value >= b[0]+100 {
					t.Errorf("p%v is %d, which is not in the bucket of %d", p, value, b[0])
				}
				break
			}
		}
		if from := pairs - rank; from < int64(len(worst)) && worst[from][0] != value {
			t.Errorf("p%v is %d, but the %d. of the worst %d", p, value, from+1, worst[from][0])
		}
	}
	for i, row := range worst {
		if row[0] != row[2]-row[1] || i > 0 && row[0] > worst[i-1][0] {
			t.Errorf("the %d. of the worst: %v after %v", i+1, row, worst[max(0, i-1)])
		}
	}
}

func ceil(x float64) int64 {
	n := int64(x)
	if float64(n) < x {
		n++
	}
	return n
}

func suffixOf(path string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".zst"), ".csv")
	return name[strings.LastIndex(name, ".")+1:]
}

func TestInvariantsHoldForThePublishedFiles(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(labtest.PublishedData(t), "cgroups-nfv", "*"))
	if err != nil || len(folders) == 0 {
		t.Fatal(folders, err)
	}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.csv.zst"))
		if err != nil || len(files) != 9 {
			t.Fatal(files, err)
		}
		set := make(fileSet)
		for _, f := range files {
			set[suffixOf(f)] = decompress(t, f)
		}
		t.Run(filepath.Base(folder), func(t *testing.T) { holdInvariants(t, set) })
	}
}

// Our files have the names, headers and invariants of the published ones.
func TestOurFilesHaveThePublishedForm(t *testing.T) {
	theirs, err := filepath.Glob(filepath.Join(labtest.PublishedData(t), "cgroups-nfv", "v1", "*.csv.zst"))
	if err != nil || len(theirs) != 9 {
		t.Fatal(theirs, err)
	}
	pre, post, _ := writePair(t, network(11, 20000), packetfile.Layout{Format: packetfile.Pcap}, ".pcap.zst")
	a := analyze(t, Options{Pre: pre, Post: post})
	out := t.TempDir()
	files, err := a.WritePublished(context.Background(), out, nil)
	if err != nil {
		t.Fatal(err)
	}
	set := make(fileSet)
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		set[suffixOf(f)] = raw
	}
	holdInvariants(t, set)
	for _, their := range theirs {
		_, ending, _ := strings.Cut(strings.TrimSuffix(filepath.Base(their), ".zst"), ".pcap.zst")
		raw, err := os.ReadFile(filepath.Join(out, "pre.pcap.zst"+ending))
		if err != nil {
			t.Error(err)
			continue
		}
		head := func(csv []byte) string { line, _, _ := bytes.Cut(csv, []byte("\n")); return string(line) }
		if want := head(decompress(t, their)); head(raw) != want {
			t.Errorf("%s begins with %s, want %s", ending, head(raw), want)
		}
		if raw[len(raw)-1] != '\n' || bytes.Contains(raw, []byte("\r")) {
			t.Errorf("%s has other ends of lines", ending)
		}
	}
}
