package simulate

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
)

// recordedCSV has a row for each figure that was recorded: see record/main.go.
//
//go:embed recorded.csv
var recordedCSV []byte

// Recorded is what a host measured on a tier, at one time. Its packets are not recorded by time, so it has no bound of
// its own.
type Recorded struct {
	Count int64
	P99Ns int64
}

// window is how many trials a published figure is of. The largest of six is above their median, whatever the packets
// of a trial have in common, with 98 % confidence (1 − 2^−6; docs/statistics.md has the interval of both sides).
const window = 6

// figure is what an agent publishes after the trial at an index from window − 1 on: the median p99 of a window of
// trials, and how large it may be.
func figure(of []Recorded, at int) (count, p99Ns, upperNs int64) {
	var all []int64
	for _, r := range of[at-window+1 : at+1] {
		count += r.Count
		all = append(all, r.P99Ns)
	}
	slices.Sort(all)
	return count, (all[window/2-1] + all[window/2]) / 2, all[window-1]
}

// Recordings are what hosts measured on tiers, by tier and host, each in the order in which it was measured.
type Recordings map[string]map[string][]Recorded

// Load reads the recorded figures.
func Load() (Recordings, error) {
	rows, err := csv.NewReader(bytes.NewReader(recordedCSV)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("recorded.csv: %w", err)
	}
	all := Recordings{}
	for i, row := range rows[1:] {
		var n [3]int64 // part, count, p99
		for k := range n {
			if n[k], err = strconv.ParseInt(row[2+k], 10, 64); err != nil {
				return nil, fmt.Errorf("recorded.csv, line %d: %w", i+2, err)
			}
		}
		tier, host := row[0], row[1]
		if all[tier] == nil {
			all[tier] = map[string][]Recorded{}
		}
		of := all[tier][host]
		if n[0] != int64(len(of)+1) {
			return nil, fmt.Errorf("recorded.csv, line %d: part %d of %s on %s comes after part %d", i+2, n[0], tier, host, len(of))
		}
		all[tier][host] = append(of, Recorded{Count: n[1], P99Ns: n[2]})
	}
	return all, nil
}

// moments is how many pairs of a figure and the next trial a host has on each of these tiers.
func (r Recordings) moments(host string, tiers ...string) int {
	least := 0
	for i, tier := range tiers {
		if n := len(r[tier][host]) - window; i == 0 || n < least {
			least = n
		}
	}
	return max(least, 0)
}
