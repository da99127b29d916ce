package main

import (
	"bytes"
	"strings"
	"testing"

	"nines.dev/nines/exit"
)

func TestUnknownVerb(t *testing.T) {
	var out, stderr bytes.Buffer
	if code := execute([]string{"runn"}, &out, &stderr); code != exit.Wrong {
		t.Errorf("exit code %d, want %d", code, exit.Wrong)
	}
	for _, want := range []string{"runn", "run\n", "--help"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("the message %q does not say %q", stderr.String(), want)
		}
	}
}
