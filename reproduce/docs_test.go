package reproduce

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"nines.dev/nines/host"
)

var update = flag.Bool("update", false, "write the table of docs/claims.md again; the verdicts in it stay")

// table is the document with all claims.
const table = "../docs/claims.md"

// judgedRow is a row of the table: its claim, what the files say of it, and the verdict with its reasons.
var judgedRow = regexp.MustCompile("^(\\| `([^`]+)` \\|.*\\| )((?:holds|differs|not decidable here|decidable here) \\| .* \\|)$")

// TestTableOfClaims: docs/claims.md has a row for each claim, as the files say it. The verdicts are those of a run.
func TestTableOfClaims(t *testing.T) {
	papers, err := Papers()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := NewDocument(papers, Host{Inventory: &host.Inventory{}}, false).WriteMarkdown(&out); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	head, rows, _ := strings.Cut(string(kept), "\n## ")
	verdicts := map[string]string{}
	paper := ""
	for line := range strings.Lines("## " + rows) {
		line = strings.TrimSuffix(line, "\n")
		if id, is := strings.CutPrefix(line, "## "); is {
			paper = id
		} else if found := judgedRow.FindStringSubmatch(line); found != nil {
			verdicts[paper+" "+found[2]] = found[3]
		}
	}
	var want strings.Builder
	want.WriteString(head)
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if id, is := strings.CutPrefix(line, "## "); is {
			paper = id
		}
		if found := judgedRow.FindStringSubmatch(line); found != nil {
			verdict, judged := verdicts[paper+" "+found[2]]
			if !judged && !*update {
				t.Errorf("%s has no row for %s of %s; run 'hack/go test ./reproduce -update'", table, found[2], paper)
			} else if !judged {
				verdict = fmt.Sprintf("%s | not judged yet |", NotDecidable)
			}
			line = found[1] + verdict
		}
		want.WriteString(line + "\n")
	}
	if *update {
		if err := os.WriteFile(table, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want.String() != string(kept) {
		t.Errorf("%s is not what the files say; run 'hack/go test ./reproduce -update'", table)
	}
}
