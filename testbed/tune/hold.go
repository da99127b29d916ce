package tune

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"nines.dev/nines/testbed/journal"
	"nines.dev/nines/testbed/proc"
)

// hold starts a nines-init that keeps the setting's file open, until undo ends it.
// It is in the journal before it exists, with a token among its arguments by which
// it is found if its starter is killed in between.
func (a Applier) hold(ctx context.Context, s Setting) (Result, error) {
	result := Result{Setting: s}
	if _, err := os.Stat(s.Path); err != nil {
		result.Outcome, result.Reason = Absent, "cannot be read: "+err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			result.Reason = "this kernel has no " + s.Path
		}
		return result, nil
	}
	token := a.Journal.Token("hold/" + s.Name)
	step := journal.Step{Kind: journal.KindProcess, Name: a.Mark, Path: s.Path, Value: s.Value, Token: token}
	id, err := a.Journal.Begin(step)
	if err != nil {
		return result, err
	}
	holder, err := startHolder(ctx, a.Init, token, s)
	var refused *journal.RefusedError
	if errors.As(err, &refused) {
		result.Outcome, result.Reason = Refused, refused.Err.Error()
		return result, nil
	}
	if err != nil {
		return result, err
	}
	result.Outcome = Changed
	return result, a.Journal.Done(id, journal.Learnt{PID: holder.PID, StartTicks: holder.StartTicks})
}

// startHolder returns when the file is held. The holder is in a session of its own:
// a terminal's Ctrl-C is not for it.
func startHolder(ctx context.Context, init, token string, s Setting) (proc.Identity, error) {
	var said bytes.Buffer
	cmd := exec.Command(init, "hold", token, s.Path, s.Value)
	cmd.Dir = "/"
	cmd.Env = []string{"NINES_TOKEN=" + token}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, outWriter, err := os.Pipe()
	if err != nil {
		return proc.Identity{}, err
	}
	defer out.Close()
	failure, failureWriter, err := os.Pipe()
	if err != nil {
		return proc.Identity{}, errors.Join(err, outWriter.Close())
	}
	defer failure.Close()
	cmd.Stdout, cmd.Stderr = outWriter, failureWriter
	err = cmd.Start()
	outWriter.Close()
	failureWriter.Close()
	if err != nil {
		return proc.Identity{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	id, err := proc.Of(cmd.Process.Pid)
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line == "ok\n" && err == nil {
		// Waited for by nobody: it outlives nines, or ends with undo, which reaps it.
		return id, cmd.Process.Release()
	}
	_, _ = said.ReadFrom(failure)
	_ = cmd.Wait() // what it said is the reason
	if ctx.Err() != nil {
		return proc.Identity{}, ctx.Err()
	}
	return proc.Identity{}, &journal.RefusedError{Path: s.Path, Value: s.Value, Err: errors.New(strings.TrimSpace(said.String()))}
}
