package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// made is where the works write.
var made = must(os.MkdirTemp("", "growth"))

// folder is an empty folder.
func folder() string { return must(os.MkdirTemp(made, "")) }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// inventory is a machine of the virtual laboratory.
var inventory = must(host.Load(must(os.ReadFile(filepath.Join("host", "testdata", "hosts", "laboratory.json")))))

// planned is the plan of an experiment.
func planned(text string) *plan.Plan {
	return must(plan.Make(must(must(spec.Load("growth.yaml", []byte(text))).Experiment()), inventory))
}

// ring has nodes that a link each joins to the next.
func ring(nodes int, kind, more string) string {
	var text strings.Builder
	text.WriteString("name: ring\n" + more + "topology:\n  nodes:\n")
	for i := range nodes {
		fmt.Fprintf(&text, "    n%d: {runtime: netns}\n", i)
	}
	text.WriteString("  links:\n")
	for i := range nodes {
		fmt.Fprintf(&text, "    - {kind: %s, endpoints: [\"n%d:right\", \"n%d:left\"]}\n", kind, i, (i+1)%nodes)
	}
	return text.String()
}

// star has nodes on one bridge.
func star(nodes int) string {
	var names, endpoints []string
	for i := range nodes {
		names = append(names, fmt.Sprintf("    n%d: {runtime: netns}\n", i))
		endpoints = append(endpoints, fmt.Sprintf("\"n%d:eth\"", i))
	}
	return "name: star\ntopology:\n  nodes:\n" + strings.Join(names, "") +
		"  links:\n    - {name: lan, kind: bridge, endpoints: [" + strings.Join(endpoints, ", ") + "]}\n"
}
