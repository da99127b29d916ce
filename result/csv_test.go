package result

import (
	"encoding/csv"
	"strings"
	"testing"
)

// TestCSVHasNoFormulas: a spreadsheet that opens the file runs nothing that is in someone else's
// names, and numbers are numbers.
func TestCSVHasNoFormulas(t *testing.T) {
	for value, want := range map[any]string{
		"=1+1": "'=1+1", "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0", "-2+3+cmd": "'-2+3+cmd", "@SUM(1)": "'@SUM(1)", "\t=1": "'\t=1",
		"-5": "-5", "+5": "+5", "-1.5e3": "-1.5e3", -5.0: "-5", "veth": "veth", "a=b": "a=b", "": "", true: "true", "a\x1b[2J\u009b": "a?[2J?",
	} {
		trials := []Trial{{ID: "0001", Variables: map[string]any{"=key": value}}}
		var out strings.Builder
		if err := WriteSummaryCSV(&out, trials); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if rows[0][1] != "'=key" || rows[1][1] != want {
			t.Errorf("%q in the column %q, want %q", rows[1][1], rows[0][1], want)
		}
	}
}

// TestCausesMoveNoCursor: a cause has the name of a thread, which it chooses itself.
func TestCausesMoveNoCursor(t *testing.T) {
	outliers := []Outlier{{ID: 1, Cause: "thread \x1b]0;evil\x07 took the CPU"}, {ID: 2, Cause: "=1+1"}, {ID: 3, Cause: `timer, "local"`}}
	var out strings.Builder
	if err := writeOutliers(&out, outliers); err != nil {
		t.Fatal(err)
	}
	read, err := readOutliers(strings.NewReader(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"thread ?]0;evil? took the CPU", "'=1+1", `timer, "local"`} {
		if read[i].Cause != want {
			t.Errorf("the cause is %q, want %q", read[i].Cause, want)
		}
	}
	if outliers[1].Cause != "=1+1" {
		t.Error("the packets themselves were changed")
	}
}
