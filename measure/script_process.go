package measure

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"nines.dev/nines/lab/scripts"

	"golang.org/x/sys/unix"

	"nines.dev/nines/lab"
	"nines.dev/nines/script"
)

// starter starts scripts and their commands in a lab.
type starter struct{ lab *lab.Lab }

func (s starter) Script(ctx context.Context, part script.Part) (script.Process, error) {
	p, err := scripts.In(s.lab.Lab, part.Node).Script(ctx, part.Kind, part.Text)
	if err != nil {
		return nil, err
	}
	return process{p}, nil
}

func (s starter) Command(ctx context.Context, node string, argv []string, dir string, env []string) (script.Process, error) {
	p, err := scripts.In(s.lab.Lab, node).Command(ctx, argv, dir, env)
	if err != nil {
		return nil, err
	}
	return process{p}, nil
}

// process is a leashed process of a node.
type process struct{ *scripts.Leashed }

// lastLinesPatience is how long a process that has ended is waited for to have its last lines copied. A
// daemon that it has started may have its output for as long as the lab is up.
const lastLinesPatience = 100 * time.Millisecond

func (p process) Run(out, complaints *script.Output) (script.Ending, func()) {
	defer p.Release()
	var copies outputCopies
	// Files, as Wait would wait for what it copies itself, before it tells that the process has ended.
	stdout, stderr, err := copies.begin(out, complaints)
	if err != nil {
		return script.Ending{Err: err}, copies.end
	}
	p.Stdout, p.Stderr = stdout, stderr
	err = p.Start()
	_ = stdout.Close() // the process has its own
	_ = stderr.Close()
	if err == nil {
		err = p.Wait()
	}
	copies.await(lastLinesPatience)
	return endingOf(err), func() {
		copies.await(p.WaitDelay)
		copies.end()
	}
}

// endingOf is how a command ended that Wait says this of.
func endingOf(err error) script.Ending {
	var ended *exec.ExitError
	switch {
	case err == nil:
		return script.Ending{}
	case !errors.As(err, &ended):
		return script.Ending{Err: err}
	}
	if status, ok := ended.Sys().(unix.WaitStatus); ok && status.Signaled() {
		return script.Ending{Signal: int(status.Signal())}
	}
	return script.Ending{Code: ended.ExitCode()} // 128 and a signal's number, as a shell says it
}

// outputCopies copy what a process writes, and what it has left behind.
type outputCopies struct {
	from    []*os.File
	copying sync.WaitGroup
}

// begin returns the files that the process has to have; the caller closes them. Until end is called they are
// copied.
func (c *outputCopies) begin(out, complaints io.Writer) (stdout, stderr *os.File, err error) {
	if stdout, err = c.copy(out); err != nil {
		return nil, nil, err
	}
	if stderr, err = c.copy(complaints); err != nil {
		return nil, nil, errors.Join(err, stdout.Close())
	}
	return stdout, stderr, nil
}

func (c *outputCopies) copy(to io.Writer) (*os.File, error) {
	from, end, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.from = append(c.from, from)
	c.copying.Go(func() {
		_, _ = io.Copy(to, from) // until there is no writer left, or end; an Output tells itself what failed
	})
	return end, nil
}

// await returns when no process has the output open and all of it is copied, or after some time.
func (c *outputCopies) await(patience time.Duration) {
	whole := make(chan struct{})
	go func() {
		c.copying.Wait()
		close(whole)
	}()
	select {
	case <-whole:
	case <-time.After(patience):
	}
}

func (c *outputCopies) end() {
	for _, from := range c.from {
		_ = from.Close()
	}
	c.copying.Wait()
}
