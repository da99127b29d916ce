package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// onPurpose is what was done deliberately to a link, in some trials.
type onPurpose struct {
	text   string
	trials int
}

// purposes are a list of these, found by their text.
type purposes = firstLines[string, onPurpose]

// addPurpose adds a text to a list, or a trial to the text that is there.
func addPurpose(p *purposes, text, trial string) {
	text = terminal.Cut(text, mostLineText)
	if line := p.line(text, trial); line != nil {
		line.text = text
		line.trials++
	}
}

// WriteImpaired says which links were impaired or went down deliberately, so that no one takes their
// delay and loss for the network's.
func WriteImpaired(w io.Writer, r *result.Result) error {
	impaired, events, err := purposesOf(r)
	if err != nil {
		return err
	}
	s := terminal.StyleOf(w)
	var out strings.Builder
	for _, part := range []struct {
		title string
		list  purposes
	}{{"deliberately impaired", impaired}, {"events", events}} {
		if len(part.list.lines) == 0 {
			continue
		}
		out.WriteString("\n" + s.Paint(terminal.Bold, part.title) + "\n\n")
		for _, one := range part.list.lines {
			text := fmt.Sprintf("%s (%s)", one.text, terminal.Count(one.trials, "trial"))
			out.WriteString(terminal.Wrap(terminal.Plain(text), 2, 2, s.Columns) + "\n")
		}
		out.WriteString(part.list.more())
	}
	_, err = io.WriteString(w, out.String())
	return err
}

// purposesOf are the impairments and events of all trials, each once, in the order in which they
// first come.
func purposesOf(r *result.Result) (impaired, events purposes, err error) {
	for _, trial := range r.Shown() {
		details, err := r.TrialFolder(trial.ID).Details()
		if errors.Is(err, fs.ErrNotExist) {
			continue // the table reports what is missing
		}
		if err != nil {
			return purposes{}, purposes{}, err
		}
		for _, one := range details.Impairments {
			addPurpose(&impaired, fmt.Sprintf("%s  packets from %s: %s", one.Link, one.From, one.What), trial.ID)
		}
		for _, one := range details.Events {
			addPurpose(&events, one.String(), trial.ID)
		}
	}
	return impaired, events, nil
}
