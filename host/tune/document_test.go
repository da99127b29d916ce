package tune

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/golden"
)

// The tables of docs/tuning.md match the catalogue.
func TestTheManualHasTheCatalogue(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "tuning.md")
	var settings, parameters strings.Builder
	settings.WriteString("| setting | latency | realtime | throughput | what it does | what it costs | since | from |\n|---|---|---|---|---|---|---|---|\n")
	for _, k := range catalogue() {
		fmt.Fprintf(&settings, "| `%s` | %s | %s |\n", k.Name, threeWords(k.values), adviceCells(k.Advice))
	}
	parameters.WriteString("| parameter | latency | realtime | throughput | what it does | what it costs | since | from |\n|---|---|---|---|---|---|---|---|\n")
	for _, k := range bootKinds() {
		fmt.Fprintf(&parameters, "| `%s` | %s | %s |\n", k.Name, threeWords(k.values), adviceCells(k.Advice))
	}
	golden.Part(t, path, "settings", settings.String())
	golden.Part(t, path, "parameters", parameters.String())
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
