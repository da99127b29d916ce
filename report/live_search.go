package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// searchLine is the interval between a search's lines without a terminal: its trials may be short,
// and there may be hundreds.
const searchLine = 15 * time.Second

// SearchProgress is what a search tries next, and what it knows.
type SearchProgress struct {
	Variables map[string]any
	Method    string
	// Trials is how many are done.
	Trials int
	// Purpose, RatePPS and Lasts describe the trial that begins.
	Purpose string
	RatePPS float64
	Lasts   time.Duration
	// LosslessPPS is the highest rate so far without loss, LossyPPS the lowest rate above it with
	// loss; 0 if there is none.
	LosslessPPS, LossyPPS float64
}

// String says how far the search is: "mlrsearch: no loss at 812k, loss at 840k
// packets/s, 14 trials; search for NDR at 826k packets/s".
func (p SearchProgress) String() string {
	var parts []string
	switch {
	case p.LosslessPPS > 0 && p.LossyPPS > 0:
		parts = append(parts, fmt.Sprintf("no loss at %s, loss at %s packets/s", shortRate(p.LosslessPPS), shortRate(p.LossyPPS)))
	case p.LosslessPPS > 0:
		parts = append(parts, fmt.Sprintf("no loss at %s packets/s", shortRate(p.LosslessPPS)))
	case p.LossyPPS > 0:
		parts = append(parts, fmt.Sprintf("loss at %s packets/s", shortRate(p.LossyPPS)))
	}
	if p.Trials > 0 {
		parts = append(parts, terminal.Count(p.Trials, "trial"))
	}
	text := p.Method + ": " + strings.Join(parts, ", ")
	if len(parts) > 0 {
		text += "; "
	}
	return text + fmt.Sprintf("%s, %s packets/s", p.Purpose, shortRate(p.RatePPS))
}

// shortRate writes a rate with three digits: 812k, 1.05M.
func shortRate(pps float64) string {
	switch {
	case pps >= 999_500:
		return strconv.FormatFloat(pps/1e6, 'g', 3, 64) + "M"
	case pps >= 9_995:
		return strconv.FormatFloat(pps/1e3, 'g', 3, 64) + "k"
	default:
		return terminal.Significant(pps)
	}
}

// Searching shows what a search does: in the running line of a terminal, else in an occasional
// line.
func (l *Live) Searching(p SearchProgress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = p.String()
	if len(p.Variables) > 0 {
		l.running = Describe(p.Variables) + "  " + l.running
	}
	l.searching, l.alone = true, false
	if l.style.Terminal {
		l.progress(Progress{Of: p.Lasts})
		return
	}
	if strings.HasPrefix(p.Purpose, result.WindowPurpose) {
		return // each gets a line when it ends
	}
	if now := l.options.Now(); now.Sub(l.said) >= searchLine {
		l.said = now
		l.say("%s  %s", l.number(l.done+1), l.running)
	}
}

// liveFindings returns the findings that fit into a line: only the rates, if there are many.
func liveFindings(s result.Search) []result.Finding {
	const most = 4
	all := headlines(s)
	if len(all) > most {
		all = slices.DeleteFunc(all, func(f result.Finding) bool { return f.Unit != "packets/s" })
	}
	return all[:min(len(all), most)]
}

// Found shows the findings of a finished search.
func (l *Live) Found(s result.Search) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line.Clear(l.w)
	l.done++
	l.ended = l.options.Now()
	l.running, l.searching = "", false
	parts := []string{fmt.Sprintf("%s  %s", l.number(l.done), s.Method)}
	if len(s.Variables) > 0 {
		parts[0] = fmt.Sprintf("%s  %s  %s", l.number(l.done), Describe(s.Variables), s.Method)
	}
	for _, f := range liveFindings(s) {
		text := foundText(f.Value, f.AtLeast, f.Unit)
		if f.Value != nil {
			text += " " + findingUnit(f.Unit)
		}
		parts = append(parts, f.Name+" "+text)
	}
	parts = append(parts, fmt.Sprintf("%s in %s", terminal.Count(len(s.Trials), "trial"), terminal.Span(time.Duration(s.MeasuringNs))))
	line := terminal.Plain(strings.Join(parts, "  "))
	if mark, colour := searchVerdict(s); mark != "" {
		line += "  " + l.style.Paint(colour, mark)
	}
	fmt.Fprintln(l.w, line)
}
