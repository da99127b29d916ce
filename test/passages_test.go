package test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// passage is text that a person reads in a file: a paragraph, a comment or a string.
type passage struct {
	line int    // where it begins
	text string // all of it on one line
}

// passages returns those of a file, in their order. A comment that continues on the next line is one passage, and so
// is a string that continues in the next literal. Of Go's tests it returns only comments: their strings are input.
func passages(name, text string) []passage {
	switch path.Ext(name) {
	case ".md":
		return paragraphs(text)
	case ".go", ".c", ".h", ".ts", ".mjs":
		return literals(text, !strings.HasSuffix(name, "_test.go"))
	case ".sh", ".mk", ".yaml", ".tpl", ".py":
		return hashed(text)
	}
	switch path.Base(name) {
	case "Makefile", "Kbuild", "go", "run": // the last two are scripts: hack/go and .ci/run
		return hashed(text)
	}
	return nil
}

func paragraphs(text string) []passage {
	var found []passage
	line := 1
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		found = append(found, passage{line, paragraph})
		line += strings.Count(paragraph, "\n") + 2
	}
	return onOneLine(found)
}

// hashed reads a language whose comments begin with #. A line that is no comment is a passage, as its quotes follow the
// rules of another language each time.
func hashed(text string) []passage {
	var found []passage
	continues := false
	line := 0
	for content := range strings.SplitSeq(text, "\n") {
		line++
		content = strings.TrimSpace(content)
		comment := strings.HasPrefix(content, "#")
		content = strings.TrimLeft(content, "#")
		if comment && continues {
			found[len(found)-1].text += content
		} else {
			found = append(found, passage{line, content})
		}
		continues = comment
	}
	return onOneLine(found)
}

// literal is a comment or a string of Go, C or TypeScript. The last two are there so that their quotes begin no
// string: runes of Go, and regular expressions of TypeScript.
var literal = regexp.MustCompile(`//[^\n]*|(?s:/\*.*?\*/)|"(\\.|[^"\\\n])*"|` +
	"`[^`]*`" + `|'(\\.|[^'\\\n])*'|[=(,:]\s*/(\\.|[^/\\\n])+/`)

// between is what may stand between two parts of a passage.
var between = regexp.MustCompile(`^[ \t]*(\+[ \t]*)?\n?[ \t]*$`)

// margin is the asterisk at the beginning of a line in a comment of C.
var margin = regexp.MustCompile(`\n[ \t]*\*`)

// literals reads a language whose comments are those of C: its comments and, if wanted, its strings.
func literals(text string, strs bool) []passage {
	var found []passage
	line, counted := 1, 0
	end, commented := 0, false // of the literal before
	for _, at := range literal.FindAllStringIndex(text, -1) {
		content := text[at[0]:at[1]]
		comment := strings.HasPrefix(content, "//") || strings.HasPrefix(content, "/*")
		if !comment && !strs {
			continue
		}
		line += strings.Count(text[counted:at[0]], "\n")
		counted = at[0]
		continues := len(found) > 0 && comment == commented && between.MatchString(text[end:at[0]])
		end, commented = at[1], comment
		if comment {
			content = " " + strings.Trim(margin.ReplaceAllString(content, " "), "/*")
		} else {
			content = strings.ReplaceAll(content[1:len(content)-1], `\n`, " ")
		}
		if continues {
			found[len(found)-1].text += content
		} else {
			found = append(found, passage{line, content})
		}
	}
	return onOneLine(found)
}

func onOneLine(found []passage) []passage {
	for i := range found {
		found[i].text = strings.Join(strings.Fields(found[i].text), " ")
	}
	return found
}

func TestPassages(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []passage
	}{
		{"a.md", "# One\n\ntwo\nthree\n\nfour\n", []passage{{1, "# One"}, {3, "two three"}, {6, "four"}}},
		{"a.sh", "#!/bin/sh\n# one\n#  two\necho 'three' # four\n", []passage{{1, "!/bin/sh one two"}, {4, "echo 'three' # four"}, {5, ""}}},
		{"a.go", "// One\n// two.\n\n// three\nx := \"four \" +\n\t\"five\" // six\ny := 'a'; z := `s\\`",
			[]passage{{1, "One two."}, {4, "three"}, {5, "four five"}, {6, "six"}, {7, "a"}, {7, `s\`}}},
		{"a_test.go", "x := \"four // \" // six\n", []passage{{1, "six"}}},
		{"a.c", "/* One\n * two. */\nputs(\"three\\n\"\n     \"four // \\\"five\\\"\"); // six\nchar c = '\"'; /* seven */",
			[]passage{{1, "One two."}, {3, `three four // \"five\"`}, {4, "six"}, {5, `"`}, {5, "seven"}}},
		{"a.ts", "const x = /[\"'`]/g; // one\nf(`two ${x}`, 'three');", []passage{{1, `/[\"'` + "`]"}, {1, "one"}, {2, "two ${x}"}, {2, "three"}}},
		{"a.svg", "<text>", nil},
	} {
		got := passages(c.name, c.text)
		if c.name == "a.ts" { // its expression is no text, but harmless
			got, c.want = got[1:], c.want[1:]
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
