package report

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// LiveOptions describe a run that is about to begin.
type LiveOptions struct {
	// Total is the number of trials of the run.
	Total int
	// TrialTime is the expected duration of a trial, to estimate the time left until the first has
	// ended; 0 gives no estimate.
	TrialTime time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Live shows a run in progress: a line per finished trial and, on a terminal, a line below with the
// running trial and the time left. Any goroutine may use it: what watches the lab's nodes speaks
// beside the trials. It ignores output errors: a closed terminal must not end a measurement.
type Live struct {
	mu      sync.Mutex // for all below
	w       io.Writer
	style   terminal.Style
	options LiveOptions
	begun   time.Time
	ended   time.Time // end of the last trial, or begun
	done    int
	running string // the running trial; "" for none
	line    terminal.Line
	// searching is set during a search, whose length is unknown; said is when there last was a line on a trial that runs.
	searching bool
	said      time.Time
	// alone is true while a baseline runs.
	alone bool
	// judged counts the verdicts of the trials so far.
	judged map[result.Verdict]int
	// looked is what the running duet has decided, of which that many are decided.
	looked  string
	decided int
}

// NewLive starts showing a run on w.
func NewLive(w io.Writer, options LiveOptions) *Live {
	if options.Now == nil {
		options.Now = time.Now
	}
	now := options.Now()
	return &Live{w: w, style: terminal.StyleOf(w), options: options, begun: now, ended: now}
}

// Say writes a line above the running one, such as "building the network".
func (l *Live) Say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say(format, args...)
}

func (l *Live) say(format string, args ...any) {
	l.line.Clear(l.w)
	fmt.Fprintln(l.w, terminal.Plain(fmt.Sprintf(format, args...)))
}

// Status shows the current activity in the running line; only on a terminal.
func (l *Live) Status(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status(format, args...)
}

func (l *Live) status(format string, args ...any) {
	if l.style.Terminal {
		l.line.Draw(l.w, l.style, fmt.Sprintf(format, args...))
	}
}

// Begin says that a trial begins.
func (l *Live) Begin(variables map[string]any, _ int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running, l.looked, l.decided, l.alone = "", "", 0, false
	if l.options.Total > 1 {
		l.running = Describe(variables) // its number tells the repeat
	}
	l.progress(Progress{Of: l.options.TrialTime})
}

// Trial shows a finished trial.
func (l *Live) Trial(t result.Trial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line.Clear(l.w)
	l.done++
	l.ended = l.options.Now()
	l.running = ""
	if l.judged == nil {
		l.judged = map[result.Verdict]int{}
	}
	l.judged[t.Verdict]++
	l.figures(t, fmt.Sprintf("%s  %s", l.number(l.done), Describe(t.Variables)))
}

// Window shows a finished window of a soak.
func (l *Live) Window(t result.Trial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line.Clear(l.w)
	head := strings.TrimPrefix(t.Purpose, "latency in ")
	if len(t.Variables) > 0 {
		head = Describe(t.Variables) + "  " + head
	}
	l.figures(t, fmt.Sprintf("%s  %s", l.options.Now().UTC().Format("15:04:05"), head))
}

// figures writes a finished trial's line.
func (l *Live) figures(t result.Trial, head string) {
	if t.Refused {
		fmt.Fprintln(l.w, terminal.Plain(head+"  no packet passes")+"  "+l.style.Paint(verdictColour(t.Verdict), "refused"))
		return
	}
	parts := []string{head}
	rate, _ := received.Of(t)
	parts = append(parts, fmt.Sprintf("%s of %s pps", terminal.Grouped(rate), terminal.Grouped(t.OfferedPPS)))
	for _, name := range []string{"p50", "p99", "max"} {
		text := terminal.None
		if value, ok := LatencyFigure(name).Of(t); ok {
			text = terminal.Significant(value/1000) + " µs"
		}
		parts = append(parts, name+" "+text)
	}
	line := terminal.Plain(strings.Join(parts, "  "))
	fmt.Fprintln(l.w, line+"  "+l.style.Paint(verdictColour(t.Verdict), string(t.Verdict)))
}

// Skipped shows a combination that is not measured.
func (l *Live) Skipped(skipped result.Skipped) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say("%s  %s: %s", strings.Repeat(" ", 2*len(fmt.Sprint(l.options.Total))+1), Describe(skipped.Variables), skipped.Reason)
}

// Lost reports a trial without a result.
func (l *Live) Lost(variables map[string]any, repeat int, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done++
	l.ended = l.options.Now()
	l.running, l.searching = "", false
	l.say("%s  %s, repeat %d: %s", l.number(l.done), Describe(variables), repeat, reason)
}

// Close removes the running line.
func (l *Live) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line.Clear(l.w)
}

// left estimates the time left from the trials that have ended, including the time to build
// networks between them.
func (l *Live) left() (time.Duration, bool) {
	each := l.options.TrialTime
	if l.done > 0 {
		each = l.ended.Sub(l.begun) / time.Duration(l.done)
	}
	if each == 0 {
		return 0, false
	}
	running := l.options.Now().Sub(l.ended)
	return time.Duration(max(l.options.Total-l.done-1, 0))*each + max(each-running, 0), true
}

func (l *Live) number(n int) string {
	width := len(fmt.Sprint(l.options.Total))
	return fmt.Sprintf("%*d/%d", width, n, l.options.Total)
}

// Describe names a trial by its variables: "kind=veth rate_pps=1000".
func Describe(variables map[string]any) string {
	names := make([]string, 0, len(variables))
	for name := range variables {
		names = append(names, name)
	}
	sort.Strings(names)
	short := shortNames(names)
	parts := make([]string, 0, len(names))
	for _, name := range names {
		parts = append(parts, short[name]+"="+result.FormatVariable(variables[name]))
	}
	if len(parts) == 0 {
		return "trial"
	}
	return strings.Join(parts, " ")
}
