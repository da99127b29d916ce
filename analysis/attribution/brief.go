package attribution

import (
	"fmt"
	"strings"

	"nines.dev/nines/result"
)

// Brief names a cause in a few words, as the column cause of outliers.csv does.
func Brief(c result.Cause) string {
	words := []string{strings.ReplaceAll(c.Kind, "_", " ")}
	if c.Name != "" {
		words = append(words, c.Name)
	}
	if c.Source != "" {
		words = append(words, "by "+c.Source)
	}
	if c.CPU >= 0 {
		words = append(words, fmt.Sprintf("(CPU %d)", c.CPU))
	}
	return strings.Join(words, " ")
}

// Annotate writes into each outlier the cause that took most of its time. Those of which
// nothing was recorded get none. The causes are those of the same outliers.
func Annotate(outliers []result.Outlier, causes result.Causes) {
	for i := range min(len(outliers), len(causes.Packets)) {
		if totals := Totals(causes.Packets[i]); causes.Packets[i].Recorded && len(totals) > 0 {
			outliers[i].Cause = Brief(totals[0].Cause)
		}
	}
}
