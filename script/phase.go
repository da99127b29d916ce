package script

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Part is a script that runs in a node.
type Part struct {
	Node string
	// Kind is "setup", "experiment" or "teardown".
	Kind string
	// Text is the script.
	Text string
}

// Outcome is how a node's script ended.
type Outcome struct {
	Node string
	Kind string
	// Status is the exit status, "signal 9" or "timeout".
	Status string
	// How says it in words; empty where the script succeeded.
	How     string
	Took    time.Duration
	Uploads []string
	// Cut is true where its output and uploads were more than the limit, or its commands' were.
	Cut bool
}

// Starter starts a process in a node; it is the lab's side. The process ends with ctx, and when nines
// is gone.
type Starter interface {
	// Script makes the process of a part's script.
	Script(ctx context.Context, part Part) (Process, error)
	// Command makes the process of a command that a script of the node asks for.
	Command(ctx context.Context, node string, argv []string, dir string, env []string) (Process, error)
}

// Process is a process of a node that has not been started.
type Process interface {
	// Run runs it to its end, with its output going to out and complaints. What it has left behind may
	// hold these still: rest waits until they are whole, but not for long, and has to be called.
	Run(out, complaints *Output) (ending Ending, rest func())
	// Release gives up one that is not run.
	Release()
}

// Ending is how a process ended: by an exit status, a signal, or because it could not be run.
type Ending struct {
	Code   int
	Signal int
	Err    error
}

// status is the ending in a word, and how in words.
func (e Ending) status(ctx context.Context) (status, how string) {
	switch cause := context.Cause(ctx); {
	case errors.As(cause, new(*timeoutError)):
		return "timeout", cause.Error()
	case cause != nil && !e.fine():
		return "interrupted", "was interrupted"
	case e.Err != nil:
		return "failed", "could not be run: " + e.Err.Error()
	case e.Signal != 0:
		return fmt.Sprintf("signal %d", e.Signal), fmt.Sprintf("was ended by signal %d", e.Signal)
	case e.Code != 0:
		return fmt.Sprint(e.Code), fmt.Sprintf("ended with status %d", e.Code)
	}
	return "0", ""
}

func (e Ending) fine() bool { return e.Err == nil && e.Signal == 0 && e.Code == 0 }

type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("ran longer than %v, the timeout of scripts", e.after)
}

// Phase is a set of scripts that run at once, with their barriers: the setup of a lab, a trial's
// experiment.
type Phase struct {
	parts     []Part
	variables *Variables
	starter   Starter
	timeout   time.Duration

	folders map[string]*Folder

	mu       sync.Mutex
	barriers *Barriers
	commands map[string]*command // by node and name
	// callers are the connections of requests under way, which requests counts.
	callers  map[net.Conn]bool
	requests sync.WaitGroup
	// cut has the nodes of which a command said more than was kept, and unkept is what could not be
	// written of commands.
	cut    map[string]bool
	unkept []error
	// ended is true when the last script has ended: no further request is taken.
	ended bool
}

// PhaseOptions say what a phase runs.
type PhaseOptions struct {
	Parts     []Part
	Variables *Variables
	Starter   Starter
	// Timeout is how long a script may run.
	Timeout time.Duration
	// Into has a folder for each node's output, of at most Limit bytes.
	Into  *os.Root
	Limit int64
}

// NewPhase prepares the folders of a phase.
func NewPhase(o PhaseOptions) (*Phase, error) {
	var names []string
	for _, part := range o.Parts {
		names = append(names, part.Node)
	}
	p := &Phase{
		parts: o.Parts, variables: o.Variables, starter: o.Starter, timeout: o.Timeout,
		barriers: NewBarriers(names), folders: map[string]*Folder{}, commands: map[string]*command{}, callers: map[net.Conn]bool{}, cut: map[string]bool{},
	}
	for _, part := range o.Parts {
		folder, err := NewFolder(o.Into, part.Node, o.Limit)
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		p.folders[part.Node] = folder
	}
	return p, nil
}

// Run runs the phase's scripts to their ends, and then ends the commands that they left running. It
// fails only where their output cannot be kept.
func (p *Phase) Run(ctx context.Context) ([]Outcome, error) {
	outcomes := make([]Outcome, len(p.parts))
	failures := make([]error, len(p.parts))
	var group sync.WaitGroup
	for i, part := range p.parts {
		group.Go(func() {
			outcomes[i], failures[i] = p.run(ctx, part)
		})
	}
	group.Wait()
	p.endRequests()
	p.endCommands()
	for i := range outcomes {
		folder := p.folders[outcomes[i].Node]
		outcomes[i].Cut = outcomes[i].Cut || p.cut[outcomes[i].Node]
		outcomes[i].Uploads = folder.Uploads()
		slices.Sort(outcomes[i].Uploads)
		failures = append(failures, folder.WriteFile(StatusFile, outcomes[i].Status+"\n"))
	}
	failures = append(failures, p.unkept...)
	return outcomes, errors.Join(append(failures, p.Close())...)
}

func (p *Phase) run(ctx context.Context, part Part) (Outcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.timeout, &timeoutError{p.timeout})
	defer cancel()
	begun := time.Now()
	outcome := Outcome{Node: part.Node, Kind: part.Kind}
	out, complaints, err := p.folders[part.Node].Outputs(StdoutFile, StderrFile)
	if err != nil {
		outcome.Status, outcome.How = Ending{Err: err}.status(ctx)
		p.endAtBarriers(outcome)
		return outcome, err
	}
	ending, rest := Ending{}, func() {}
	if process, err := p.starter.Script(ctx, part); err != nil {
		ending.Err = err
	} else {
		ending, rest = process.Run(out, complaints)
	}
	outcome.Status, outcome.How = ending.status(ctx)
	outcome.Took = time.Since(begun)
	if outcome.How != "" {
		if said := lastLines(complaints.Last(), out.Last()); said != "" && ending.Err == nil {
			outcome.How += ": " + said
		}
	}
	p.endAtBarriers(outcome) // the others need not wait for the rest of its output
	rest()
	outcome.Cut = out.Cut() || complaints.Cut()
	return outcome, errors.Join(out.Close(), complaints.Close())
}

// endAtBarriers tells the barriers how a script ended.
func (p *Phase) endAtBarriers(o Outcome) {
	how := o.How
	if how == "" {
		how = "has ended"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.barriers.End(o.Node, how)
}

// Close forgets the folders of a phase that is not run; Run does so by itself.
func (p *Phase) Close() error {
	var failures []error
	for _, node := range slices.Sorted(maps.Keys(p.folders)) {
		failures = append(failures, p.folders[node].Close())
	}
	return errors.Join(failures...)
}

// quotedLines is how many lines of a script's output a reason has.
const quotedLines = 3

// lastLines are the last lines of what a script said, in one line: of its complaints, or where it has
// none, of its output.
func lastLines(complaints, out string) string {
	for _, text := range []string{complaints, out} {
		var said []string
		for _, line := range strings.Split(text, "\n") {
			if line = strings.TrimSpace(strings.ToValidUTF8(line, "\ufffd")); line != "" {
				said = append(said, line)
			}
		}
		if len(said) > 0 {
			return strings.Join(said[max(0, len(said)-quotedLines):], "; ")
		}
	}
	return ""
}
