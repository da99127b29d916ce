package node

import (
	"os"
	"regexp"
	"slices"
	"strings"
)

// lastLines is how many lines of a log an error quotes.
const lastLines = 5

// traced matches lines with which a program says where it was when it ended, below the reason: VPP's
// stack, "#0  0x… f + 0x1" and "from /lib/…", Snabb's debugger, which does not find the source, and
// Snabb's stack, "(1) Lua function …" with its variables.
var traced = regexp.MustCompile(`^(#[0-9]+ |\s+from /|file not found: \S+\.lua: |Stack Traceback|=+\s*$|\([0-9]+\)  ?\S|\t)`)

// LastLines joins the last lines of logs into one line, without empty ones, carriage returns and a program's stack; a
// log that cannot be read has none.
func LastLines(logs ...string) string {
	var said []string
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			continue
		}
		lines := slices.DeleteFunc(strings.Split(strings.ReplaceAll(string(text), "\r", ""), "\n"), func(line string) bool {
			return strings.TrimSpace(line) == "" || traced.MatchString(line)
		})
		said = append(said, lines[max(0, len(lines)-lastLines):]...)
	}
	return strings.Join(said, "; ")
}
