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

func TestUnknownVerb(t *testing.T) {
	code, _, stderr := call("runn")
	if code != exit.Wrong {
		t.Errorf("exit code %d, want %d", code, exit.Wrong)
	}
	for _, want := range []string{"runn", "run\n", "--help"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("the message %q does not say %q", stderr, want)
		}
	}
}
