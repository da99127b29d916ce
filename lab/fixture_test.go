package lab

import (
	"context"
	"strings"
	"testing"

	"nines.dev/nines/lab/running"
	"nines.dev/nines/test/labs"
)

// up brings a lab up and takes it down with the test.
func up(t testing.TB, text string) *Lab {
	t.Helper()
	lab, err := Up(context.Background(), UpOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Down(context.Background()); err != nil && !strings.Contains(err.Error(), "does not exist") {
			t.Error(err)
		}
	})
	return lab
}

// in runs a command in a node and returns what it prints.
func in(t testing.TB, lab *Lab, node string, argv ...string) string {
	t.Helper()
	cmd, err := lab.Command(context.Background(), node, argv, running.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %v: %s", node, argv, err, out)
	}
	return strings.TrimSpace(string(out))
}
