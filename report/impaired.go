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

// onPurpose is what was done on purpose to a link, in some trials.
type onPurpose struct {
	text   string
	trials int
}

// WriteImpaired says which links were impaired or went down on purpose, so that no one takes their
// delay and loss for the network's.
func WriteImpaired(w io.Writer, r *result.Result) error {
	impaired, events, err := purposes(r)
	if err != nil {
		return err
	}
	s := terminal.StyleOf(w)
	var out strings.Builder
	for _, part := range []struct {
		title string
		list  []onPurpose
	}{{"impaired on purpose", impaired}, {"events", events}} {
		if len(part.list) == 0 {
			continue
		}
		out.WriteString("\n" + s.Paint(terminal.Bold, part.title) + "\n\n")
		for _, one := range part.list {
			text := fmt.Sprintf("%s (%s)", one.text, terminal.Count(one.trials, "trial"))
			out.WriteString(terminal.Wrap(terminal.Plain(text), 2, 2, s.Columns) + "\n")
		}
	}
	_, err = io.WriteString(w, out.String())
	return err
}

// purposes are the impairments and events of all trials, each once, in the order in which they
// first come.
func purposes(r *result.Result) (impaired, events []onPurpose, err error) {
	for _, trial := range r.Shown() {
		details, err := r.TrialFolder(trial.ID).Details()
		if errors.Is(err, fs.ErrNotExist) {
			continue // the table reports what is missing
		}
		if err != nil {
			return nil, nil, err
		}
		for _, one := range details.Impairments {
			impaired = count(impaired, fmt.Sprintf("%s  packets from %s: %s", one.Link, one.From, one.What))
		}
		for _, one := range details.Events {
			events = count(events, one.String())
		}
	}
	return impaired, events, nil
}

// count adds a text to a list, or a trial to the text that is there.
func count(list []onPurpose, text string) []onPurpose {
	if i := slices.IndexFunc(list, func(one onPurpose) bool { return one.text == text }); i >= 0 {
		list[i].trials++
		return list
	}
	return append(list, onPurpose{text, 1})
}
