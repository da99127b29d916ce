package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// mostWhere is the most CPUs and policies of threads that a line has.
const mostWhere = 8

// way is how an interface received.
type way struct{ interfaceName, rx, mechanism, problem string }

// receivedLine is one way in which an interface received, in some trials.
type receivedLine struct {
	way
	where       []string // threads' CPUs and policies, each once
	whereMore   bool     // there are others
	uses, rates span
	trials      int
	backOffs    uint64 // of all threads, in all trials
}

// span is the smallest and the largest of some values; nil: there is none.
type span struct{ least, most *float64 }

func (s *span) add(value float64) {
	if s.least == nil || value < *s.least {
		s.least = &value
	}
	if s.most == nil || value > *s.most {
		s.most = &value
	}
}

// WriteReceived says how interfaces received if not only by interrupts: the kernel does not always
// have what the experiment asks for.
func WriteReceived(w io.Writer, r *result.Result) error {
	received, err := receivedLines(r)
	if err != nil || len(received.lines) == 0 {
		return err
	}
	s := terminal.StyleOf(w)
	var out strings.Builder
	out.WriteString("\n" + s.Paint(terminal.Bold, "received by") + "\n\n")
	for _, l := range received.lines {
		out.WriteString(terminal.Wrap(terminal.Plain(l.text()), 2, 2, s.Columns) + "\n")
	}
	out.WriteString(received.more())
	_, err = io.WriteString(w, out.String())
	return err
}

func receivedLines(r *result.Result) (firstLines[way, receivedLine], error) {
	var lines firstLines[way, receivedLine]
	cut := func(text string) string { return terminal.Cut(text, mostLineText) }
	for _, trial := range r.Shown() {
		details, err := r.TrialFolder(trial.ID).Details()
		if errors.Is(err, fs.ErrNotExist) {
			continue // the table reports what is missing
		}
		if err != nil {
			return lines, err
		}
		for _, received := range details.Receive {
			key := way{cut(received.Node + ":" + received.Interface), cut(received.RX), cut(received.Mechanism), cut(received.Problem)}
			if line := lines.line(key, trial.ID); line != nil {
				line.way = key
				line.add(received.Threads)
			}
		}
	}
	return lines, nil
}

func (l *receivedLine) add(threads []result.ReceiveThread) {
	l.trials++
	for _, t := range threads {
		where := terminal.Cut(fmt.Sprintf("CPU %s as %s", strings.Trim(fmt.Sprint(t.CPUs), "[]"), t.Scheduling), mostLineText)
		switch {
		case slices.Contains(l.where, where):
		case len(l.where) == mostWhere:
			l.whereMore = true
		default:
			l.where = append(l.where, where)
		}
		l.uses.add(t.CPUUse)
		if t.PollsPerSecond != nil {
			l.rates.add(*t.PollsPerSecond)
		}
		l.backOffs += t.BackOffs
	}
}

func (l *receivedLine) text() string {
	text := fmt.Sprintf("%s  rx: %s", l.interfaceName, l.rx)
	if l.mechanism != "" {
		text += " by " + l.mechanism
	}
	if len(l.where) > 0 {
		text += ", on " + strings.Join(l.where, " and ")
	}
	if l.whereMore {
		text += " and others"
	}
	if l.uses.least != nil {
		text += fmt.Sprintf(", busy %s %% of the time", l.uses.text(func(use float64) string { return fmt.Sprintf("%.0f", 100*use) }))
	}
	if l.rates.least != nil {
		text += fmt.Sprintf(", %s polls a second", l.rates.text(terminal.Grouped[float64]))
	}
	if l.backOffs > 0 {
		text += fmt.Sprintf(", stopped %s by the watchdog", terminal.Count(int(l.backOffs), "time"))
	}
	if l.problem != "" {
		text += ": " + l.problem
	}
	return text + fmt.Sprintf(" (%s)", terminal.Count(l.trials, "trial"))
}

// text writes the smallest and the largest value, or the only one.
func (s span) text(write func(float64) string) string {
	least, most := write(*s.least), write(*s.most)
	if least == most {
		return least
	}
	return least + " to " + most
}
