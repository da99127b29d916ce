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

// receivedLine is one way in which an interface received, in some trials.
type receivedLine struct {
	interfaceName, rx, mechanism, problem string
	where                                 []string // threads' CPUs and policies, each once
	uses, rates                           []float64
	trials                                int
	backOffs                              uint64 // of all threads, in all trials
}

// WriteReceived says how interfaces received if not only by interrupts: the kernel does not always
// have what the experiment asks for.
func WriteReceived(w io.Writer, r *result.Result) error {
	lines, err := receivedLines(r)
	if err != nil || len(lines) == 0 {
		return err
	}
	s := terminal.StyleOf(w)
	var out strings.Builder
	out.WriteString("\n" + s.Paint(terminal.Bold, "received by") + "\n\n")
	for _, l := range lines {
		out.WriteString(terminal.Wrap(terminal.Plain(l.text()), 2, 2, s.Columns) + "\n")
	}
	_, err = io.WriteString(w, out.String())
	return err
}

func receivedLines(r *result.Result) ([]*receivedLine, error) {
	var lines []*receivedLine
	for _, trial := range r.Shown() {
		details, err := r.TrialFolder(trial.ID).Details()
		if errors.Is(err, fs.ErrNotExist) {
			continue // the table reports what is missing
		}
		if err != nil {
			return nil, err
		}
		for _, received := range details.Receive {
			line := receivedLine{interfaceName: received.Node + ":" + received.Interface, rx: received.RX, mechanism: received.Mechanism, problem: received.Problem}
			at := slices.IndexFunc(lines, func(l *receivedLine) bool {
				return l.interfaceName == line.interfaceName && l.rx == line.rx && l.mechanism == line.mechanism && l.problem == line.problem
			})
			if at < 0 {
				at = len(lines)
				lines = append(lines, &line)
			}
			lines[at].add(received.Threads)
		}
	}
	return lines, nil
}

func (l *receivedLine) add(threads []result.ReceiveThread) {
	l.trials++
	for _, t := range threads {
		where := fmt.Sprintf("CPU %s as %s", strings.Trim(fmt.Sprint(t.CPUs), "[]"), t.Scheduling)
		if !slices.Contains(l.where, where) {
			l.where = append(l.where, where)
		}
		l.uses = append(l.uses, t.CPUUse)
		if t.PollsPerSecond != nil {
			l.rates = append(l.rates, *t.PollsPerSecond)
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
	if len(l.uses) > 0 {
		text += fmt.Sprintf(", busy %s %% of the time", between(l.uses, func(use float64) string { return fmt.Sprintf("%.0f", 100*use) }))
	}
	if len(l.rates) > 0 {
		text += fmt.Sprintf(", %s polls a second", between(l.rates, terminal.Grouped[float64]))
	}
	if l.backOffs > 0 {
		text += fmt.Sprintf(", stopped %s by the watchdog", terminal.Count(int(l.backOffs), "time"))
	}
	if l.problem != "" {
		text += ": " + l.problem
	}
	return text + fmt.Sprintf(" (%s)", terminal.Count(l.trials, "trial"))
}

// between writes the smallest and the largest value, or the only one.
func between(values []float64, write func(float64) string) string {
	least, most := write(slices.Min(values)), write(slices.Max(values))
	if least == most {
		return least
	}
	return least + " to " + most
}
