package main

import (
	"bytes"
	"strings"
	"testing"

	"nines.dev/nines/exit"
)

// call runs one command line and returns its output.
func call(args ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	code = execute(args, &out, &errOut)
	return code, out.String(), errOut.String()
}

// wantRefusals checks that each call of a verb is wrong, and that the error has the words.
func wantRefusals(t *testing.T, verb string, calls map[string]string) {
	t.Helper()
	for line, words := range calls {
		code, _, errOut := call(append([]string{verb}, strings.Fields(line)...)...)
		if code != exit.Wrong || !strings.Contains(errOut, words) {
			t.Errorf("%s %s: exit code %d, %q, want %q", verb, line, code, errOut, words)
		}
	}
}

// TestWhatIsNotMeantIsRefused: a wrong name takes nothing down, and no shell is no success.
func TestWhatIsNotMeantIsRefused(t *testing.T) {
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	for words, line := range map[string][]string{
		"the lab's name is empty":                  {"down", ""},
		`"a/b" cannot be the name of a lab`:        {"down", "a/b"},
		`".." cannot be the name of a lab`:         {"down", ".."},
		`unknown command "x"`:                      {"completion", "x"},
		`lab "tbnothing" does not exist; nines ls`: {"down", "tbnothing"},
	} {
		code, _, said := call(line...)
		if code != exit.Wrong || !strings.Contains(said, words) {
			t.Errorf("nines %q: exit code %d, %q, want %q", line, code, said, words)
		}
	}
}

// TestAnEmptyLabIsNotTheOnlyOne: --lab "$LAB" without that variable.
func TestAnEmptyLabIsNotTheOnlyOne(t *testing.T) {
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	for _, line := range [][]string{
		{"exec", "--lab", "", "a", "--", "true"},
		{"shell", "--lab=", "a"},
		{"ssh", "--lab", "", "a"},
		{"stop", "a", "--lab", ""},
		{"start", "a", "--lab", ""},
		{"restart", "a", "--lab", ""},
		{"capture", "a:b", "--lab", ""},
	} {
		if code, _, said := call(line...); code != exit.Wrong || !strings.Contains(said, "the lab's name is empty") {
			t.Errorf("nines %q: exit code %d, %q", line, code, said)
		}
	}
}

// TestRemovalOfUnpackedCopiesTakesNoNames: an image that is named beside --unpacked is not removed.
func TestRemovalOfUnpackedCopiesTakesNoNames(t *testing.T) {
	t.Setenv("NINES_CACHE_DIR", t.TempDir())
	wantRefusals(t, "image", map[string]string{
		"rm --unpacked frr": "--unpacked removes unpacked copies only and takes no names of images",
		"rm":                "takes names of images",
	})
}

func TestUnknownVerb(t *testing.T) {
	code, _, stderr := call("runn")
	if code != exit.Wrong {
		t.Errorf("exit code %d, want %d", code, exit.Wrong)
	}
	for _, want := range []string{"runn", "did you mean 'nines run'", "--help"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("the message %q does not say %q", stderr, want)
		}
	}
}
