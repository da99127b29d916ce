package tune

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/kernel/proc"
)

// hold starts a nines-init that keeps the setting's file open until undo ends it. The
// journal has the step before the process starts, with a token among its arguments: by the
// token undo finds it if its starter is killed in between.
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
	step := journal.Step{Kind: process.Kind, Name: a.Mark, Path: s.Path, Value: s.Value, Token: token}
	id, err := a.Journal.Begin(step)
	if err != nil {
		return result, err
	}
	holder, err := startHolder(ctx, a.Init, token, s)
	var refused *setting.RefusedError
	if errors.As(err, &refused) {
		result.Outcome, result.Reason = Refused, refused.Err.Error()
		return result, nil
	}
	if err != nil {
		return result, err
	}
	result.Outcome = Changed
	return result, a.Journal.Done(id, process.Learnt(holder))
}

// startHolder returns when the file is held.
func startHolder(ctx context.Context, init, token string, s Setting) (proc.Identity, error) {
	failure, failureWriter, err := os.Pipe()
	if err != nil {
		return proc.Identity{}, err
	}
	defer failure.Close()
	cmd := exec.Command(init, "hold", token, s.Path, s.Value)
	cmd.Dir, cmd.Env, cmd.Stderr = "/", []string{"NINES_TOKEN=" + token}, failureWriter
	id, err := proc.Start(ctx, cmd, proc.ReadyOnStdout)
	failureWriter.Close()
	var ended *proc.EndedError
	if !errors.As(err, &ended) {
		return id, err
	}
	said, _ := io.ReadAll(failure)
	return id, &setting.RefusedError{Path: s.Path, Value: s.Value, Err: errors.New(string(bytes.TrimSpace(said)))}
}
