package smoke

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// shellBlock is a command of a document.
var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// mostCommands is what the first hour may take.
const mostCommands = 10

// TestTheFirstHour runs the commands of docs/first-hour.md in an empty folder, but for the installation. Without the long
// form, packets are sent for a shorter time.
func TestTheFirstHour(t *testing.T) {
	labtest.Experiment(t)
	text, err := os.ReadFile("../../docs/first-hour.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := shellBlock.FindAllStringSubmatch(string(text), -1)
	if len(commands) < 2 || len(commands) > mostCommands || !strings.HasPrefix(commands[0][1], "sudo apt install ") {
		t.Fatalf("%d commands, of which the first installs: %q", len(commands), commands)
	}
	dir, tools := t.TempDir(), t.TempDir()
	// Root needs no sudo, and a test asks for no password.
	if err := os.WriteFile(filepath.Join(tools, "sudo"), []byte("#!/bin/sh\nexec \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, command := range commands[1:] {
		line := strings.TrimSuffix(command[1], "\n")
		if !labtest.Long() {
			line = shortened(line)
		}
		sh := exec.Command("sh", "-c", line)
		sh.Dir = dir
		sh.Env = append(os.Environ(), "PATH="+filepath.Join(labtest.Repository(), "bin")+":"+tools+":"+os.Getenv("PATH"))
		said, err := sh.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, said)
		}
		switch {
		case strings.Contains(line, " try --service") && !strings.Contains(string(said), "relayed by dut"):
			t.Errorf("%s: the packets did not come through the program:\n%s", line, said)
		case line == "nines explain" && !strings.Contains(string(said), "slowest packets"):
			t.Errorf("%s explains nothing:\n%s", line, said)
		case line == "nines results ls" && strings.Count(string(said), "try") < 4:
			t.Errorf("%s lists\n%s", line, said)
		}
	}
}

// shortened is a command that measures for less long.
func shortened(line string) string {
	switch {
	case strings.HasPrefix(line, "sudo nines try"):
		return line + " --for 300ms --set traffic.drain=3s" // a host that takes the device's CPU for a second loses no packet
	case strings.HasPrefix(line, "sudo nines run"):
		return line + " --set traffic.duration=300ms"
	}
	return line
}
