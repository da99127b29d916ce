package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"nines.dev/nines/terminal"
)

// progressLine shows the progress of an operation once it has taken two seconds: on a terminal in
// place, until it is cleared; otherwise with a new line from time to time. Any goroutine may call
// it.
type progressLine struct {
	out     io.Writer
	style   terminal.Style
	line    terminal.Line
	lock    sync.Mutex
	started time.Time
	last    time.Time
	stage   string
}

func newProgressLine(out io.Writer) *progressLine {
	return &progressLine{out: out, style: terminal.StyleOf(out), started: time.Now()}
}

// at shows the stage and how much of it is done, if an update is due; the first of a stage always
// is.
func (p *progressLine) at(stage, done string) {
	p.lock.Lock()
	defer p.lock.Unlock()
	now := time.Now()
	wait := 10 * time.Second
	if p.style.Terminal {
		wait = 200 * time.Millisecond
	}
	if now.Sub(p.started) < 2*time.Second || stage == p.stage && now.Sub(p.last) < wait {
		return
	}
	p.last, p.stage = now, stage
	text := stage
	if done != "" {
		text += ": " + done
	}
	if p.style.Terminal {
		p.line.Draw(p.out, p.style, text)
	} else {
		terminal.Println(p.out, text)
	}
}

// sayIfSlow prints a text if an operation takes two seconds or more; the caller ends it by stop.
func sayIfSlow(out io.Writer, text string) (stop func()) {
	timer := time.AfterFunc(2*time.Second, func() { terminal.Println(out, text) })
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
	p.line.Clear(p.out)
	p.stage = ""
}
