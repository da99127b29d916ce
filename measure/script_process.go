package measure

import (
	"context"
	"errors"
	"os/exec"

	"golang.org/x/sys/unix"

	"nines.dev/nines/lab"
	"nines.dev/nines/script"
)

// starter starts scripts and their commands in a lab.
type starter struct{ lab *lab.Lab }

func (s starter) Script(ctx context.Context, part script.Part) (script.Process, error) {
	p, err := s.lab.Script(ctx, part.Node, part.Kind, part.Text)
	if err != nil {
		return nil, err
	}
	return process{p}, nil
}

func (s starter) Command(ctx context.Context, node string, argv []string, dir string, env []string) (script.Process, error) {
	p, err := s.lab.ScriptCommand(ctx, node, argv, dir, env)
	if err != nil {
		return nil, err
	}
	return process{p}, nil
}

// process is a leashed process of a node.
type process struct{ *lab.Leashed }

func (p process) Run(out, complaints *script.Output) script.Ending {
	defer p.Release()
	p.Stdout, p.Stderr = out, complaints
	err := p.Cmd.Run()
	var ended *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // a daemon that it started has its output
		return script.Ending{}
	case !errors.As(err, &ended):
		return script.Ending{Err: err}
	}
	if status, ok := ended.Sys().(unix.WaitStatus); ok && status.Signaled() {
		return script.Ending{Signal: int(status.Signal())}
	}
	return script.Ending{Code: ended.ExitCode()} // 128 and a signal's number, as a shell says it
}
