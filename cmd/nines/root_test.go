package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"nines.dev/nines/host"
)

func TestExitCodes(t *testing.T) {
	child := exec.Command("sh", "-c", "exit 42").Run()
	if child == nil {
		t.Fatal("sh -c 'exit 42' did not fail")
	}
	for name, test := range map[string]struct {
		err  error
		want int
	}{
		"any failure":               {errors.New("x"), exitFailed},
		"a wrong call":              {fmt.Errorf("call: %w", usageError{errors.New("x")}), exitUsage},
		"a host that lacks":         {fmt.Errorf("up: %w", &host.MissingError{Capability: "root"}), exitUnsupported},
		"a program that nines runs": {fmt.Errorf("node a: exec: %w", child), exitFailed},
	} {
		if got := exitCode(test.err); got != test.want {
			t.Errorf("%s: exit code %d, want %d", name, got, test.want)
		}
	}
}

func TestUnknownVerb(t *testing.T) {
	var out, stderr bytes.Buffer
	if code := execute([]string{"runn"}, &out, &stderr); code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	for _, want := range []string{"runn", "run\n", "--help"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("the message %q does not say %q", stderr.String(), want)
		}
	}
}
