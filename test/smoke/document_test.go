package smoke

import (
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// shellBlock is a command of a document that is to be run.
var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// commandsOf are those of a document below docs, in their order.
func commandsOf(t *testing.T, document string) (commands []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", document))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
		commands = append(commands, strings.TrimSuffix(block[1], "\n"))
	}
	if len(commands) < 2 {
		t.Fatalf("%s has %d commands", document, len(commands))
	}
	return commands
}

// runInTurn runs commands in one empty folder, and returns each with its output. All must succeed.
func runInTurn(t *testing.T, commands []string) iter.Seq2[string, string] {
	t.Helper()
	dir, tools := t.TempDir(), t.TempDir()
	// Root needs no sudo, and a test asks for no password.
	if err := os.WriteFile(filepath.Join(tools, "sudo"), []byte("#!/bin/sh\nexec \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return func(yield func(string, string) bool) {
		for _, line := range commands {
			if !labtest.Long() {
				line = shortened(line)
			}
			sh := exec.Command("sh", "-c", line)
			sh.Dir = dir
			sh.Env = append(os.Environ(), "PATH="+filepath.Join(labtest.Repository(), "bin")+":"+tools+":"+os.Getenv("PATH"))
			said, err := sh.CombinedOutput()
			if err != nil && !labtest.NoneValid(string(said)) {
				t.Fatalf("%s: %v\n%s", line, err, said)
			}
			if !yield(line, string(said)) {
				return
			}
		}
	}
}

// shortened is a command that measures for less long.
func shortened(line string) string {
	switch {
	case strings.HasPrefix(line, "sudo nines try"):
		return line + " --for 300ms --set traffic.drain=3s" // a host that takes the device's CPU for a second loses no packet
	case strings.HasPrefix(line, "sudo nines duet"):
		return line + " --for 500ms"
	case strings.HasPrefix(line, "sudo nines run"):
		return line + " --set traffic.duration=300ms"
	}
	return line
}

// TestHowTo runs the commands of each page of docs/how-to that has some to run.
func TestHowTo(t *testing.T) {
	labtest.Experiment(t)
	for document, says := range map[string]string{
		"measure-my-forwarder.md": "relayed by dut",
		"compare-two-settings.md": "p50",
		"send-everything.md":      "report.html",
		"read-a-result.md":        "verdict",
	} {
		t.Run(document, func(t *testing.T) {
			seen := false
			for _, said := range runInTurn(t, commandsOf(t, filepath.Join("how-to", document))) {
				seen = seen || strings.Contains(said, says)
			}
			if !seen {
				t.Errorf("no command says %q", says)
			}
		})
	}
}
