package report

import (
	"strings"
	"testing"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// TestALeastValueIsToldAsOne, in the table of findings and in a comparison, which gives no ratio of it.
func TestALeastValueIsToldAsOne(t *testing.T) {
	pps := 1352754.0
	bounded := []result.Search{{ID: "0001", Repeat: 1, Method: "rfc2544", Variables: map[string]any{}, Findings: []result.Finding{
		{Name: "throughput", Unit: "packets/s", Value: &pps, AtLeast: true, Reason: "the generator bounds it"}}}}
	var out strings.Builder
	writeSearches(&out, terminal.Style{}, bounded, Totals{})
	if !strings.Contains(out.String(), "at least 1,352,754") {
		t.Errorf("the table has\n%s", out.String())
	}
	if c := compareFindings(bounded, bounded); len(c) != 1 || c[0].Ratio != nil || c[0].A.valueText() != "at least 1,352,754" {
		t.Errorf("compared: %+v", c)
	}
}
