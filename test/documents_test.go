package test

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// [text](target) and [text]: target, outside of code.
var (
	link      = regexp.MustCompile(`\]\(<?([^)>\s]+)>?[^)]*\)|(?m)^\[[^\]]+\]:\s+(\S+)`)
	codeBlock = regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]*`")
)

// TestLinksLeadToFiles: every Markdown link to a file of the repository resolves, and
// so does its heading.
func TestLinksLeadToFiles(t *testing.T) {
	links := 0
	for _, name := range files(t) {
		if filepath.Ext(name) != ".md" {
			continue
		}
		text := codeBlock.ReplaceAllString(string(read(t, name)), "")
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			links++
			if reason := broken(t, name, match[1]+match[2]); reason != "" {
				t.Errorf("%s links to %s: %s", name, match[1]+match[2], reason)
			}
		}
	}
	if links == 0 {
		t.Error("found no link in any document")
	}
}

// broken says why a link of a document leads nowhere, or nothing if it does not. Only
// links into the repository are followed.
func broken(t *testing.T, document, target string) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		return err.Error()
	}
	if u.Scheme != "" {
		return ""
	}
	file := document
	if u.Path != "" {
		file = filepath.Join(filepath.Dir(document), u.Path)
	}
	if _, err := os.Stat(filepath.Join(root, file)); err != nil {
		return "no such file"
	}
	if u.Fragment == "" || filepath.Ext(file) != ".md" {
		return ""
	}
	for line := range strings.Lines(string(read(t, file))) {
		if strings.HasPrefix(line, "#") && anchor(line) == u.Fragment {
			return ""
		}
	}
	return "no such heading"
}

// anchor is the fragment by which GitHub and GitLab link to a heading.
func anchor(heading string) string {
	heading = strings.ToLower(strings.TrimSpace(strings.TrimLeft(heading, "#")))
	heading = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(heading, "")
	return strings.ReplaceAll(heading, " ", "-")
}

func TestAnchor(t *testing.T) {
	for heading, want := range map[string]string{
		"## Test tiers\n":          "test-tiers",
		"# `nines up`, and `down`": "nines-up-and-down",
	} {
		if got := anchor(heading); got != want {
			t.Errorf("anchor(%q) = %q, want %q", heading, got, want)
		}
	}
}
