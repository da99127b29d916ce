package test

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// verb is one of fmt's, for what a message leaves open.
var verb = regexp.MustCompile(`%[-+# 0]*(\[\d+\])?(\d+|\*)?(\.(\d+|\*))?[a-zA-Z]`)

// quoted is a message in docs/troubleshooting.md: code in a block quote.
var quoted = regexp.MustCompile("`([^`]+)`")

// TestTroubleshootingQuotesTheCode: each message of the page is one of the code. What it leaves open is written as "…".
func TestTroubleshootingQuotesTheCode(t *testing.T) {
	var said []string
	for _, file := range goFiles(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			if text := constantText(n); text != "" {
				said = append(said, leftOpen(text))
				return false
			}
			return true
		})
	}
	all := strings.Join(said, "\n")
	messages := 0
	for number, line := range strings.Split(string(read(t, "docs/troubleshooting.md")), "\n") {
		if !strings.HasPrefix(line, "> ") {
			continue
		}
		for _, message := range quoted.FindAllStringSubmatch(line, -1) {
			messages++
			for part := range strings.SplitSeq(message[1], "…") {
				if part = strings.TrimSpace(part); len(part) > 2 && !strings.Contains(all, part) {
					t.Errorf("docs/troubleshooting.md:%d: no message of the code has %q", number+1, part)
				}
			}
		}
	}
	if messages < 30 {
		t.Errorf("found only %d messages", messages)
	}
}

// leftOpen is a format with "…" for what it leaves open.
func leftOpen(format string) string {
	text := strings.ReplaceAll(format, "%%", "\x00")
	text = verb.ReplaceAllStringFunc(text, func(v string) string {
		if strings.HasSuffix(v, "q") {
			return `"…"`
		}
		return "…"
	})
	return strings.ReplaceAll(text, "\x00", "%")
}

// constantText is the text of a string, or of several that are added; empty for anything else.
func constantText(n ast.Node) string {
	switch e := n.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value) // the parser has accepted it
			return text
		}
	case *ast.BinaryExpr:
		left, right := constantText(e.X), constantText(e.Y)
		if e.Op == token.ADD && left != "" && right != "" {
			return left + right
		}
	}
	return ""
}
