package reproduce

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"nines.dev/nines/host"
)

var (
	update = flag.Bool("update", false, "write the table of docs/claims.md again; the verdicts in it stay")
	from   = flag.String("from", "", "with -update: the folder of a reproduction, whose verdicts replace those of its claims")
)

// table is the document with all claims.
const table = "../docs/claims.md"

var (
	// row is one of the table: its claim, what the files say of it, and the verdict with its reasons.
	row = regexp.MustCompile("^(\\| `([^`]+)` \\|.*\\| )((?:holds|differs|not decidable here|decidable here) \\| .* \\|)$")
	// judgedOn is the line that says on which machine, when and by which command.
	judgedOn = regexp.MustCompile(`(?m)^Judged on .*\n`)
)

// verdictsIn are the last cells of a table's rows, by "PAPER CLAIM".
func verdictsIn(text string) map[string]string {
	all, paper := map[string]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if id, is := strings.CutPrefix(line, "## "); is {
			paper = id
		} else if found := row.FindStringSubmatch(line); found != nil {
			all[paper+" "+found[2]] = found[3]
		}
	}
	return all
}

// TestTableOfClaims: docs/claims.md has a row for each claim, as the files say it. The verdicts are those of a run.
func TestTableOfClaims(t *testing.T) {
	papers, err := Papers()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(kept), "\n## ")
	verdicts := verdictsIn(string(kept))
	if *from != "" {
		judged := markdownOf(t, func() (*Document, error) { return Open(*from) })
		maps.Copy(verdicts, verdictsIn(judged))
		if strings.Count(judged, "\n## ") > 1 { // of one paper the other verdicts stay, and so does what they were judged on
			head = judgedOn.ReplaceAllString(head, strings.ReplaceAll(judgedOn.FindString(judged), "$", "$$"))
		}
	}
	want, paper := head, ""
	for line := range strings.Lines(markdownOf(t, func() (*Document, error) { return NewDocument(papers, Host{Inventory: &host.Inventory{}}, false), nil })) {
		line = strings.TrimSuffix(line, "\n")
		if id, is := strings.CutPrefix(line, "## "); is {
			paper = id
		}
		if found := row.FindStringSubmatch(line); found != nil {
			verdict, known := verdicts[paper+" "+found[2]]
			if !known && !*update {
				t.Errorf("%s has no row for %s of %s; run 'hack/go test ./reproduce -update'", table, found[2], paper)
			} else if !known {
				verdict = fmt.Sprintf("%s | not judged yet |", NotDecidable)
			}
			line = found[1] + verdict
		}
		want += line + "\n"
	}
	if *update {
		if err := os.WriteFile(table, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(kept) {
		t.Errorf("%s is not what the files say; run 'hack/go test ./reproduce -update'", table)
	}
}

func markdownOf(t *testing.T, document func() (*Document, error)) string {
	t.Helper()
	d, err := document()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := d.WriteMarkdown(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
