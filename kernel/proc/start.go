package proc

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// ReadyOn is where a program writes "ok" when it is ready.
type ReadyOn int

const (
	ReadyOnStdout ReadyOn = iota
	// ReadyOnExtraFile is the command's first free descriptor, 3 if it has no ExtraFiles.
	ReadyOnExtraFile
)

// Start starts a program that outlives its starter, and returns when the program is ready.
// Nothing waits for it then; the process that ends it reaps it. It runs in its own session, so that
// a terminal's Ctrl-C does not reach it. If it ends before it is ready, the error is an
// *EndedError.
func Start(ctx context.Context, cmd *exec.Cmd, on ReadyOn) (Identity, error) {
	ready, writer, err := os.Pipe()
	if err != nil {
		return Identity{}, err
	}
	defer ready.Close()
	if on == ReadyOnStdout {
		cmd.Stdout = writer
	} else {
		cmd.ExtraFiles = append(cmd.ExtraFiles, writer)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	err = cmd.Start()
	writer.Close()
	if err != nil {
		return Identity{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	id, lost := Of(cmd.Process.Pid)
	line, _ := bufio.NewReader(ready).ReadString('\n')
	isReady := line == "ok\n"
	if isReady && lost == nil && stop() { // not if it is being killed
		return id, cmd.Process.Release()
	}
	if isReady { // it would not end by itself
		_ = cmd.Process.Kill()
	}
	ended := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return Identity{}, ctx.Err()
	case isReady:
		return Identity{}, fmt.Errorf("find %s: %w", cmd.Path, lost)
	}
	return Identity{}, &EndedError{Program: cmd.Path, Err: ended}
}

// EndedError says that a program ended before it was ready. Err is the result of Wait; nil
// for exit code 0.
type EndedError struct {
	Program string
	Err     error
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("%s ended before it was ready: %v", e.Program, e.Err)
}

func (e *EndedError) Unwrap() error { return e.Err }
