package index

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDocumentNamesEveryColumn: docs/results-index.md has every table and column, and its examples
// run on both databases.
func TestDocumentNamesEveryColumn(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "results-index.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	forEachDatabase(t, func(t *testing.T, location func(*testing.T, string) Location) {
		root := t.TempDir()
		addSearch(t, writeResult(t, root, "one", started, "veth"))
		x := open(t, location(t, root), root)
		refresh(t, x)
		for _, table := range tableNames {
			if !strings.Contains(text, "**"+table+"**") {
				t.Errorf("the table %s is not there", table)
			}
			for _, column := range ask(t, x, "select * from "+table).columns {
				if !strings.Contains(text, "`"+column+"`") {
					t.Errorf("%s.%s is not there", table, column)
				}
			}
		}
		_, examples, _ := strings.Cut(text, "## Examples\n")
		for _, example := range strings.Split(strings.TrimSpace(examples), "\n\n") {
			var answer collected
			if err := x.Query(t.Context(), example, time.Minute, &answer); err != nil {
				t.Errorf("%v in\n%s", err, example)
			}
			if !strings.Contains(example, "having") && len(answer.rows) == 0 {
				t.Errorf("nothing comes of\n%s", example)
			}
		}
	})
}
