package tune

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/golden"
)

// The tables of docs/tuning.md are what the catalogue says.
func TestTheManualHasTheCatalogue(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "tuning.md")
	text := read(t, path)
	var settings, parameters strings.Builder
	settings.WriteString("| setting | latency | realtime | throughput | what it does | what it costs | since | from |\n|---|---|---|---|---|---|---|---|\n")
	for _, k := range catalogue() {
		fmt.Fprintf(&settings, "| `%s` | %s | %s |\n", k.Name, threeWords(k.values), adviceCells(k.Advice))
	}
	parameters.WriteString("| parameter | latency | realtime | throughput | what it does | what it costs | since | from |\n|---|---|---|---|---|---|---|---|\n")
	for _, k := range bootKinds() {
		fmt.Fprintf(&parameters, "| `%s` | %s | %s |\n", k.Name, threeWords(k.values), adviceCells(k.Advice))
	}
	next := between(t, between(t, text, "settings", settings.String()), "parameters", parameters.String())
	if *golden.Update {
		if err := os.WriteFile(path, []byte(next), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if next != text {
		t.Error("docs/tuning.md is not what the catalogue says: go test ./host/tune -update writes its tables")
	}
}

func threeWords(values map[string]string) string {
	var cells []string
	for _, name := range ProfileNames() {
		cells = append(cells, values[name])
	}
	return strings.Join(cells, " | ")
}

func adviceCells(a Advice) string {
	return strings.Join([]string{a.What, a.Cost, a.Since, a.Source}, " | ")
}

// between puts a table between its two marks.
func between(t *testing.T, text, name, table string) string {
	t.Helper()
	_, after, found := strings.Cut(text, "<!-- "+name+":")
	head, _, ended := strings.Cut(after, "-->\n")
	if !found || !ended {
		t.Fatalf("docs/tuning.md has no place for the table of %s", name)
	}
	at := strings.Index(text, "<!-- "+name+":") + len("<!-- "+name+":") + len(head) + len("-->\n")
	end := strings.Index(text[at:], "<!-- end -->")
	if end < 0 {
		t.Fatalf("docs/tuning.md has no end of the table of %s", name)
	}
	return text[:at] + "\n" + table + "\n" + text[at+end:]
}
