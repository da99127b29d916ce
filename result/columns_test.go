package result

import (
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/test/golden"
)

// TestDocumentsHaveTheColumns: the documents' tables are generated from the registry.
func TestDocumentsHaveTheColumns(t *testing.T) {
	for _, part := range []struct {
		document, mark string
		form           Form
	}{
		{"reference/exports.md", "columns", InExport},
		{"reference/exports.md", "columns of recorded packets", InRecorded},
		{"results-index.md", "columns of trials", InIndex},
	} {
		golden.Part(t, "../docs/"+part.document, part.mark, markdown(Columns(part.form)))
	}
}

// markdown has a line per column, but a single one for columns with the same description. If they
// are many, their names are below the table.
func markdown(list []Column) string {
	const most, inLine = 4, 6
	var table, below strings.Builder
	table.WriteString("| column | unit | meaning |\n|---|---|---|\n")
	var names []string
	for i, c := range list {
		names = append(names, "`"+c.Name+"`")
		if i+1 < len(list) && list[i+1].about == c.about && unitOf(list[i+1]) == unitOf(c) {
			continue
		}
		cell := strings.Join(names, ", ")
		if len(names) > most {
			cell = names[0] + " … " + names[len(names)-1]
			var lines []string
			for line := range slices.Chunk(names, inLine) {
				lines = append(lines, strings.Join(line, ", "))
			}
			below.WriteString("- " + strings.Join(lines, ",\n  ") + "\n")
		}
		table.WriteString(strings.Join([]string{"|", cell, "|", unitOf(c), "|", c.about, "|\n"}, " "))
		names = nil
	}
	text := strings.ReplaceAll(table.String(), "|  |", "| |")
	if below.Len() > 0 {
		text += "\nWith … between them, the columns are:\n\n" + below.String()
	}
	return text
}

func TestColumnsAreNamedOnceInAForm(t *testing.T) {
	for form := InSummary; form <= InIndex; form <<= 1 {
		seen := map[string]bool{}
		for _, c := range Columns(form) {
			if seen[c.Name] {
				t.Errorf("%s is twice in the form %d", c.Name, form)
			}
			seen[c.Name] = true
		}
	}
}

// unitOf is the unit in the name, as the documents write it.
func unitOf(c Column) string {
	for end, unit := range map[string]string{"_ns": "ns", "_pps": "packets/s", "_packets": "packets", "_bytes": "bytes", "_ppm": "ppm"} {
		if strings.HasSuffix(c.Name, end) {
			return unit
		}
	}
	if c.Kind == KindReal {
		return "–"
	}
	return ""
}
