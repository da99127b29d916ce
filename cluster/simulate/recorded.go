package simulate

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
)

// recordedCSV has a row for each figure that was recorded: see record/main.go.
//
//go:embed recorded.csv
var recordedCSV []byte

// Recorded is what a host measured on a tier, at one time.
type Recorded struct {
	Count          int64
	P99Ns, UpperNs int64
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
		var n [4]int64 // part, count, p99, its bound
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
		all[tier][host] = append(of, Recorded{Count: n[1], P99Ns: n[2], UpperNs: n[3]})
	}
	return all, nil
}

// moments is how many pairs of a figure and the next one a host has on each of these tiers.
func (r Recordings) moments(host string, tiers ...string) int {
	least := 0
	for i, tier := range tiers {
		if n := len(r[tier][host]) - 1; i == 0 || n < least {
			least = n
		}
	}
	return max(least, 0)
}
