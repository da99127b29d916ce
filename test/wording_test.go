package test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// awkward are phrases that read as translated, or that only this project would use, each with what to write.
var awkward = map[string]string{
	`\bany more\b`:                        "no longer",
	`\w+ anew\b`:                          "again, recreated, rewritten, rebuilt",
	`\bby now\b`:                          "now",
	`whoever`:                             "anyone who, a program that",
	`there is no way`:                     "no path exists",
	`(some|any|every)body( else)?('s)?`:   "another program, someone, anyone, everyone",
	`is there twice|is in the list twice`: "is listed twice",
	`there is no \w+ %q`:                  "%q does not exist, unknown %q",
	`--\w+ %q is not known|%q: (there|allowed) are`:        "unknown %q; allowed: …",
	`goes with\b|go not with`:                              "requires, is valid only with",
	`small letters`:                                        "lower-case letters",
	`take the key away|leave \w+ out and the plan chooses`: "remove the key",
	`from the least to the greatest|the least latency`:     "minimum to maximum, the minimum latency",
	`on purpose`: "deliberately",
	`what stands in the way|stands in the way of`:           "obstacles, prevents",
	`waking up from idleness`:                               "idle exit",
	`in one piece`:                                          "contiguous",
	`is through with`:                                       "releases",
	`as was asked for|, as asked\b`:                         "as requested, as the file asks",
	`past the kernel`:                                       "kernel bypass",
	`\b(latency|a|its) wish(es)?\b`:                         "latency request",
	`keeps? its promise|a promise breaks`:                   "placed latency",
	`\bputs? (everything|it|them) back`:                     "restores",
	`ask(s|ed)? to be alone`:                                "requests isolation",
	`go on with|(goes|gone|going) on with`:                  "continues with",
	`given back`:                                            "released",
	`knows? of\b`:                                           "knows about",
	`there is an? \w+ %\w already`:                          "%s already exists",
	`tells (why|how)\b`:                                     "says why; run … for the cause",
	`choose of\b`:                                           "choose from; allowed: …",
	`the ways? to (nodes?|another node|other nodes)\b`:      "the path to",
	`tells whether`:                                         "reports whether",
	`note is told`:                                          "note gets",
	`for want of`:                                           "without, because it lacks",
	`be it (a|an|the)\b`:                                    "also",
	`so many (bytes|packets|trials|nodes|devices|values)\b`: "this many, N",
}

// TestWording: documents, help texts, messages and comments are in the field's everyday words.
func TestWording(t *testing.T) {
	patterns := map[*regexp.Regexp]string{}
	for phrase, instead := range awkward {
		patterns[regexp.MustCompile(`(?i)\b(`+phrase+`)`)] = instead
	}
	// Most passages have none of them, and all in one expression take half of the time.
	anyPhrase := regexp.MustCompile(`(?i)\b(` + strings.Join(slices.Collect(maps.Keys(awkward)), "|") + `)`)
	for _, name := range files(t) {
		if unread.MatchString(name) {
			continue
		}
		for _, p := range passages(name, string(read(t, name))) {
			if !anyPhrase.MatchString(p.text) {
				continue
			}
			for pattern, instead := range patterns {
				if found := pattern.FindString(p.text); found != "" {
					t.Errorf("%s:%d: %q; write: %s", name, p.line, found, instead)
				}
			}
		}
	}
}

// unread are files whose words are not ours, or are quoted, as here.
var unread = regexp.MustCompile(`(^|/)testdata/|^test/wording_test\.go$`)
