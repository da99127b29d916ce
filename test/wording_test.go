package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// awkward are phrases that read as translated, or that only this project would use, each with what to write.
var awkward = map[string]string{
	`\bany more\b`:                                  "no longer",
	`made anew|written anew|build \w+ anew`:         "recreated, rewritten, rebuilt",
	`\bby now\b`:                                    "now",
	`whoever`:                                       "anyone who, a program that",
	`there is no way`:                               "no path exists",
	`somebody( else)?('s)?`:                         "another program, someone",
	`is there twice|is in the list twice`:           "is listed twice",
	`there is no \w+ %q`:                            "%q does not exist, unknown %q",
	`--\w+ %q is not known|%q: (there|allowed) are`: "unknown %q; allowed: …",
	`goes with\b|go not with`:                       "requires, is valid only with",
	`small letters`:                                 "lower-case letters",
	`take the key away|leave \w+ out and the plan chooses`: "remove the key",
	`from the least to the greatest|the least latency`:     "minimum to maximum, the minimum latency",
	`on purpose`: "deliberately",
	`what stands in the way|stands in the way of`:      "obstacles, prevents",
	`waking up from idleness`:                          "idle exit",
	`in one piece`:                                     "contiguous",
	`is through with`:                                  "releases",
	`as was asked for|, as asked\b`:                    "as requested, as the file asks",
	`past the kernel`:                                  "kernel bypass",
	`\b(latency|a|its) wish(es)?\b`:                    "latency request",
	`keeps? its promise|a promise breaks`:              "placed latency",
	`\bputs? (everything|it|them) back`:                "restores",
	`ask(s|ed)? to be alone`:                           "requests isolation",
	`go on with|(goes|gone|going) on with`:             "continues with",
	`given back`:                                       "released",
	`knows? of each other`:                             "are not counted together, know each other",
	`there is an? \w+ %\w already`:                     "%s already exists",
	`tells (why|how)\b`:                                "says why; run … for the cause",
	`choose of\b`:                                      "choose from; allowed: …",
	`the ways? to (nodes?|another node|other nodes)\b`: "the path to",
}

// TestWording: documents, help texts and messages are in the field's everyday words.
func TestWording(t *testing.T) {
	patterns := map[*regexp.Regexp]string{}
	for phrase, instead := range awkward {
		patterns[regexp.MustCompile(`(?i)\b(`+phrase+`)`)] = instead
	}
	check := func(place, text string) {
		text = strings.Join(strings.Fields(text), " ")
		for p, instead := range patterns {
			if found := p.FindString(text); found != "" {
				t.Errorf("%s: %q; write: %s", place, found, instead)
			}
		}
	}
	documents := []string{"../README.md", "../ARCHITECTURE.md", "../CONTRIBUTING.md", "../CHANGELOG.md", "../engine/README.md"}
	for _, pattern := range []string{"../docs/*.md", "../examples/*/README.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d documents: %v", pattern, len(found), err)
		}
		documents = append(documents, found...)
	}
	for _, path := range documents {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, paragraph := range strings.Split(string(text), "\n\n") {
			check(path+", paragraph "+strconv.Itoa(i+1), paragraph)
		}
	}
	for _, path := range files(t) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join("..", path), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, is := n.(*ast.BasicLit); is && l.Kind == token.STRING {
				check(set.Position(l.Pos()).String(), l.Value)
			}
			return true
		})
	}
}
