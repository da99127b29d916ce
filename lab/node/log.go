package node

import (
	"os"
	"slices"
	"strings"
)

// lastLines is how many lines of a log an error quotes.
const lastLines = 5

// LastLines joins the last non-empty lines of logs into one line; a log that cannot be read has
// none.
func LastLines(logs ...string) string {
	var said []string
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			continue
		}
		lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool {
			return strings.TrimSpace(line) == ""
		})
		said = append(said, lines[max(0, len(lines)-lastLines):]...)
	}
	return strings.Join(said, "; ")
}
