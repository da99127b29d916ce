package scripts

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Leashed is a process of a node that ends, with all that it started and that is still in its
// process group, when it is cancelled and when this process is gone.
type Leashed struct {
	*exec.Cmd
	leash []*os.File
}

// leashDelay is how long a leashed command has to end after it was told to; the leash itself kills it
// after 2 s (programs/nines-init/leash.c).
const leashDelay = 5 * time.Second

// Release closes the files that the process was started with. Call it when it has ended, or was not
// started.
func (l *Leashed) Release() {
	for _, file := range l.leash {
		_ = file.Close() // a pipe that nothing is written to
	}
}

// leash puts a command on a leash (programs/nines-init/leash.c). The leash is in a process group of its
// own: a terminal's Ctrl-C reaches nines, which then decides what becomes of the command.
func leash(ctx context.Context, initPath string, cmd *exec.Cmd) (*Leashed, error) {
	end, held, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	leashed := exec.CommandContext(ctx, initPath, append([]string{"leash", cmd.Path}, cmd.Args[1:]...)...)
	leashed.Env, leashed.ExtraFiles = cmd.Env, []*os.File{end}
	leashed.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	leashed.Cancel = func() error { return leashed.Process.Signal(os.Interrupt) }
	leashed.WaitDelay = leashDelay
	return &Leashed{leashed, []*os.File{end, held}}, nil
}

// interpreted is the command that runs a script at a path: by the interpreter of its first line, with
// its one argument, as the kernel does it (fs/binfmt_script.c). The file itself is not executed, since it may be in a file
// system that forbids it, as Debian's /run does.
func interpreted(text, path string) []string {
	first, _, _ := strings.Cut(text, "\n")
	line, ok := strings.CutPrefix(first, "#!")
	interpreter, argument := strings.TrimSpace(line), ""
	if at := strings.IndexAny(interpreter, " \t"); at >= 0 {
		interpreter, argument = interpreter[:at], strings.TrimSpace(interpreter[at:])
	}
	switch {
	case !ok || interpreter == "":
		return []string{"sh", path}
	case argument == "":
		return []string{interpreter, path}
	}
	return []string{interpreter, argument, path}
}
