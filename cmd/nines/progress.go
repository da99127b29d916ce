package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// progressLine shows the progress of an operation once it has taken two seconds: on a terminal in
// place, until it is cleared; otherwise with a new line from time to time. Any goroutine may call
// it.
type progressLine struct {
	out      io.Writer
	terminal bool
	lock     sync.Mutex
	started  time.Time
	last     time.Time
	stage    string
	shown    bool
}

func newProgressLine(out io.Writer) *progressLine {
	file, ok := out.(*os.File)
	return &progressLine{out: out, terminal: ok && isTerminal(file), started: time.Now()}
}

// at shows the stage and how much of it is done, if an update is due; the first of a stage always
// is.
func (p *progressLine) at(stage, done string) {
	p.lock.Lock()
	defer p.lock.Unlock()
	now := time.Now()
	wait := 10 * time.Second
	if p.terminal {
		wait = 200 * time.Millisecond
	}
	if now.Sub(p.started) < 2*time.Second || stage == p.stage && now.Sub(p.last) < wait {
		return
	}
	p.last, p.stage, p.shown = now, stage, true
	text := stage
	if done != "" {
		text += ": " + done
	}
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", text) // ECMA-48 "erase in line"
	} else {
		fmt.Fprintln(p.out, text)
	}
}

// sayIfSlow prints a text if an operation takes two seconds or more; the caller ends it by stop.
func sayIfSlow(out io.Writer, text string) (stop func()) {
	timer := time.AfterFunc(2*time.Second, func() { fmt.Fprintln(out, text) })
	return func() { timer.Stop() }
}

// counted shows how many of a stage's items are done.
func (p *progressLine) counted(stage string) func(done, of int) {
	return func(done, of int) { p.at(stage, fmt.Sprintf("%d of %d", done, of)) }
}

// bytes shows how many of a stage's bytes are done; for a size of 0 only the stage.
func (p *progressLine) bytes(stage string, done, size int64) {
	if size == 0 {
		p.at(stage, "")
		return
	}
	p.at(stage, fmt.Sprintf("%d %%", 100*done/size))
}

// clear erases the line.
func (p *progressLine) clear() {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.shown && p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.stage, p.shown = "", false
}
