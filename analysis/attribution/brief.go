package attribution

import (
	"fmt"
	"strings"

	"nines.dev/nines/result"
)

// Brief names a cause in a few words, for the column cause of outliers.csv.
func Brief(c result.Cause) string {
	words := []string{strings.ReplaceAll(c.Kind, "_", " ")}
	if c.Name != "" {
		words = append(words, c.Name)
	}
	if c.Source != "" {
		words = append(words, by(c)+c.Source)
	}
	if c.CPU >= 0 {
		words = append(words, fmt.Sprintf("(CPU %d)", c.CPU))
	}
	return strings.Join(words, " ")
}

// Annotate writes into each outlier the cause that took most of its time, and nothing into those
// without recorded events. The causes must come from the same outliers.
func Annotate(outliers []result.Outlier, causes result.Causes) {
	for i := range min(len(outliers), len(causes.Packets)) {
		if totals := Totals(causes.Packets[i]); causes.Packets[i].Recorded && len(totals) > 0 {
			outliers[i].Cause = Brief(totals[0].Cause)
		}
	}
}

// by is the word before a cause's source.
func by(c result.Cause) string {
	if c.Kind == Softirq {
		return "for "
	}
	return "by "
}
