package smoke

import (
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// mostCommands is what the first hour may take.
const mostCommands = 10

// TestTheFirstHour runs the commands of docs/first-hour.md in an empty folder, but for the installation. Without the long
// form, packets are sent for a shorter time.
func TestTheFirstHour(t *testing.T) {
	labtest.Experiment(t)
	commands := commandsOf(t, "first-hour.md")
	if len(commands) > mostCommands || !strings.HasPrefix(commands[0], "sudo apt install ") {
		t.Fatalf("%d commands, of which the first installs: %q", len(commands), commands)
	}
	for line, said := range runInTurn(t, commands[1:]) {
		switch {
		case strings.Contains(line, " try --service") && !strings.Contains(said, "relayed by dut"):
			t.Errorf("%s: the packets did not come through the program:\n%s", line, said)
		case line == "nines explain" && !strings.Contains(said, "slowest packets"):
			t.Errorf("%s explains nothing:\n%s", line, said)
		case line == "nines results ls" && strings.Count(said, "try") < 4:
			t.Errorf("%s lists\n%s", line, said)
		}
	}
}
