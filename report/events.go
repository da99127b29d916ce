package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// Events tells programs of a run in progress: a line of JSON for each thing that happens. It has what Live shows people,
// and also takes lines of text, of which each becomes a note. Any goroutine may use it, and it ignores errors of output, as
// Live does.
type Events struct {
	mu   sync.Mutex
	out  io.Writer
	now  func() time.Time
	rest []byte // of a line of text that is not whole
}

// NewEvents begins to tell.
func NewEvents(out io.Writer) *Events { return &Events{out: terminal.JSON(out), now: time.Now} }

// event is one line. What an event does not have is left out.
type event struct {
	Event string `json:"event"`
	Time  string `json:"time"`

	Text      string         `json:"text,omitempty"`
	Name      string         `json:"name,omitempty"`
	Dir       string         `json:"dir,omitempty"`
	Trials    int            `json:"trials,omitempty"`
	Variables map[string]any `json:"variables,omitempty"`
	Repeat    int            `json:"repeat,omitempty"`
	DoneNs    int64          `json:"done_ns,omitempty"`
	OfNs      int64          `json:"of_ns,omitempty"`
	Sent      *uint64        `json:"sent,omitempty"`
	Received  *uint64        `json:"received,omitempty"`
	RatePPS   *float64       `json:"rate_pps,omitempty"`
	// Latency is that so far: one, or of a duet those of side a and b.
	Latency []SoFar         `json:"latency_ns,omitempty"`
	Duet    *result.Duet    `json:"duet,omitempty"`
	Trial   *result.Trial   `json:"trial,omitempty"`
	Search  *result.Search  `json:"search,omitempty"`
	Skipped *result.Skipped `json:"skipped,omitempty"`
}

func (e *Events) tell(one event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.write(one)
}

func (e *Events) write(one event) {
	one.Time = e.now().UTC().Format(time.RFC3339Nano)
	_ = json.NewEncoder(e.out).Encode(one) // a closed pipe must not end a measurement
}

// Write takes text, of which each line is a note.
func (e *Events) Write(text []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rest = append(e.rest, text...)
	for {
		line, rest, whole := bytes.Cut(e.rest, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		if e.rest = rest; len(line) > 0 {
			e.write(event{Event: "note", Text: string(line)})
		}
	}
}

// Started says which experiment begins, where its result will be, and how many trials and searches it has.
func (e *Events) Started(name, dir string, trials int) {
	e.tell(event{Event: "started", Name: name, Dir: dir, Trials: trials})
}

// Ended says that the result is whole.
func (e *Events) Ended(dir string) { e.tell(event{Event: "ended", Dir: dir}) }

// Say tells a note, and Status what is being done between trials.
func (e *Events) Say(format string, args ...any) {
	e.tell(event{Event: "note", Text: fmt.Sprintf(format, args...)})
}

func (e *Events) Status(format string, args ...any) {
	e.tell(event{Event: "doing", Text: fmt.Sprintf(format, args...)})
}

// Baseline says that a baseline begins.
func (e *Events) Baseline() { e.tell(event{Event: "baseline"}) }

// Begin says that a trial begins.
func (e *Events) Begin(variables map[string]any, repeat int) {
	e.tell(event{Event: "begin", Variables: variables, Repeat: repeat})
}

// Progress says how far the running trial is.
func (e *Events) Progress(p Progress) {
	e.tell(event{Event: "progress", DoneNs: int64(p.Done), OfNs: int64(p.Of), Sent: &p.Sent, Received: &p.Received, RatePPS: &p.RatePPS, Latency: p.Latency})
}

// Looked says what a duet has decided so far.
func (e *Events) Looked(d result.Duet) { e.tell(event{Event: "look", Duet: &d}) }

// Trial and Window deliver a finished trial, and a finished window of a soak.
func (e *Events) Trial(t result.Trial)  { e.tell(event{Event: "trial", Trial: &t}) }
func (e *Events) Window(t result.Trial) { e.tell(event{Event: "window", Trial: &t}) }

// Searching begins a trial of a search, and Found delivers a finished search.
func (e *Events) Searching(p SearchProgress) {
	e.tell(event{Event: "searching", Variables: p.Variables, Text: p.String(), RatePPS: &p.RatePPS, OfNs: int64(p.Lasts)})
}

func (e *Events) Found(s result.Search) { e.tell(event{Event: "found", Search: &s}) }

// Skipped tells of a combination that is not measured, and Lost of a trial without a result.
func (e *Events) Skipped(s result.Skipped) { e.tell(event{Event: "skipped", Skipped: &s}) }

func (e *Events) Lost(variables map[string]any, repeat int, reason string) {
	e.tell(event{Event: "lost", Variables: variables, Repeat: repeat, Text: reason})
}

// Close ends the telling.
func (e *Events) Close() {}
