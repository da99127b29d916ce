package local_test

import (
	"os"
	"strings"
	"testing"
)

// TestTheCommandsOfTheDocument runs those of docs/local-cluster.md as they are printed, but for the cluster's name.
func TestTheCommandsOfTheDocument(t *testing.T) {
	c := newCluster(t)
	text, err := os.ReadFile(repositoryFile("docs/local-cluster.md"))
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		words, is := strings.CutPrefix(line, "sudo nines cluster ")
		if !is {
			continue
		}
		verb, rest, _ := strings.Cut(strings.TrimSpace(words), " ")
		arguments := append([]string{verb, "--name", c.name}, strings.Fields(rest)...)
		c.must(arguments...)
		ran[verb] = true
		if strings.Contains(rest, " run ") || strings.HasPrefix(rest, "-- run ") {
			c.running(strings.Fields(rest)[2])
		}
	}
	if !ran["up"] || !ran["kubectl"] || !ran["down"] {
		t.Errorf("the document has commands for %v only", ran)
	}
}
