package measure

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/lab"
	"nines.dev/nines/measure/trace"
	"nines.dev/nines/result"
)

// mostBystanders is of how many threads a result says whose they are: those that ran longest.
const mostBystanders = 40

// bystanders says whose the threads are that ran beside the trial's own, by their records. It is asked at once: those that
// have ended can no longer be found.
func bystanders(events []result.Event, own []result.TracedThread) []result.Bystander {
	ran := map[int32]*result.Bystander{}
	for _, e := range events {
		if e.Kind != result.EventThread || e.TID == 0 {
			continue
		}
		if ran[e.TID] == nil {
			ran[e.TID] = &result.Bystander{TID: int(e.TID), Name: e.Name}
		}
		ran[e.TID].RanNs += e.EndNs - e.BeginNs
	}
	for _, t := range own {
		delete(ran, int32(t.TID))
	}
	var list []result.Bystander
	for _, b := range ran {
		list = append(list, *b)
	}
	slices.SortFunc(list, func(a, b result.Bystander) int {
		return cmp.Or(cmp.Compare(b.RanNs, a.RanNs), cmp.Compare(a.TID, b.TID))
	})
	list = list[:min(len(list), mostBystanders)]
	labs, _ := lab.List() // without them only its lab is missing
	found := list[:0]
	for _, b := range list {
		thread, there := trace.ThreadOf(b.TID)
		if !there || thread.PID == 0 {
			continue
		}
		b.PID = thread.PID
		text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(b.PID), "cmdline"))
		if b.Command = shownCommand(text); b.Command == "" {
			continue // a thread of the kernel, whose name says all
		}
		groups, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(b.PID), "cgroup"))
		b.Lab = labOf(string(groups), labs)
		found = append(found, b)
	}
	return found
}

// shownCommand is the begin of a command line that a result may show to others: the program, and words up to the first
// that may be an option or hold a password.
func shownCommand(cmdline []byte) string {
	const longest = 60 // bytes
	words := strings.Split(string(bytes.TrimRight(cmdline, "\x00")), "\x00")
	text := filepath.Base(words[0])
	if words[0] == "" {
		return ""
	}
	for _, word := range words[1:] {
		if word == "" || strings.HasPrefix(word, "-") || strings.ContainsAny(word, "=@: \n") || len(text)+len(word) >= longest {
			break
		}
		text += " " + word
	}
	return strings.ToValidUTF8(text[:min(len(text), longest)], "")
}

// labOf is the lab in whose control groups a process is; empty for none.
func labOf(groups string, labs []lab.Status) string {
	for _, l := range labs {
		for _, after := range []string{"/", "\n", "."} {
			if l.Prefix != "" && strings.Contains(groups, ":/"+l.Prefix+after) {
				return l.Name
			}
		}
	}
	return ""
}
