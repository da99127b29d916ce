package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"nines.dev/nines/terminal"
)

// Row is one figure and its peer's.
type Row struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Peer is what it is compared with; empty if nothing is comparable, and then PeerValue is
	// the goal itself.
	Peer      string  `json:"peer"`
	PeerValue float64 `json:"peer_value"`
	Ratio     float64 `json:"ratio"`
	// Goal is what the ratio should be: ">= 0.95", "<= 1".
	Goal    string `json:"goal"`
	Command string `json:"command"`

	met func(ratio float64) bool
}

func atLeast(goal float64) (string, func(float64) bool) {
	return fmt.Sprintf(">= %g", goal), func(ratio float64) bool { return ratio >= goal }
}

func atMost(goal float64) (string, func(float64) bool) {
	return fmt.Sprintf("<= %g", goal), func(ratio float64) bool { return ratio <= goal }
}

func within(goal float64) (string, func(float64) bool) {
	return fmt.Sprintf("%g to %g", 1-goal, 1+goal), func(ratio float64) bool { return ratio >= 1-goal && ratio <= 1+goal }
}

// compare makes a row of a value and its peer's.
func compare(name, unit string, value float64, peer string, peerValue float64, goal string, met func(float64) bool) Row {
	row := Row{
		Name: name, Value: value, Unit: unit, Peer: peer, PeerValue: peerValue,
		Goal: goal, Command: "make bench", met: met,
	}
	if peerValue != 0 {
		row.Ratio = value / peerValue
	}
	return row
}

func printTable(out io.Writer, rows []Row) error {
	t := &terminal.Table{}
	t.Row("figure", "nines", "unit", "peer", "peer's", "ratio", "goal", "")
	for _, row := range rows {
		mark := "met"
		if !row.met(row.Ratio) {
			mark = "NOT MET"
		}
		t.Row(row.Name, terminal.Significant(row.Value), row.Unit,
			row.Peer, terminal.Significant(row.PeerValue), ratioText(row.Ratio), row.Goal, mark)
	}
	return t.Write(out, terminal.Style{})
}

// ratioText formats a ratio with two decimals, or if these are zero, with two digits.
func ratioText(v float64) string {
	if v != 0 && v < 0.01 {
		return fmt.Sprintf("%.2g", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func writeJSON(path string, rows []Row) error {
	data, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// median returns the median of the rounds' figures: the middle one, or the lower of two.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)/2]
}

// lowerQuartile is the latency in the quieter rounds. A machine's noise only adds to latency, so
// the lower quartile is stable even if the median of ten rounds varies by more than the effect to
// show.
func lowerQuartile(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)/4]
}
