package scripts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"nines.dev/nines/journal"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// KindHostScript is a script that undoes what the file's host_setup has made of the host: Path is
// the script, Value the time that it may take. It may run although the setup never did, or only in
// part.
var KindHostScript = journal.Register("host_script", journal.Undo{
	Step: runHostTeardown, Lost: "what the file's host_setup has made of the host, as host_teardown was not run",
})

// hostScriptsOf are the scripts of a plan that run on the host.
func hostScriptsOf(p *plan.Plan) [2]spec.Script {
	if p.Scripts == nil {
		return [2]spec.Script{}
	}
	return [2]spec.Script{p.Scripts.HostSetup, p.Scripts.HostTeardown}
}

// HostScriptsDiffer is true where another plan has other scripts for the host than the lab: other
// names, or other texts under the same names.
func HostScriptsDiffer(l *running.Lab, to *plan.Plan, texts spec.ScriptTexts) bool {
	have, want := hostScriptsOf(l.Plan()), hostScriptsOf(to)
	if have != want {
		return true
	}
	for i, path := range []string{l.State().HostSetup(), l.State().HostTeardown()} {
		if want[i] == "" {
			continue
		}
		if kept, err := os.ReadFile(path); err != nil || string(kept) != texts[want[i]] {
			return true
		}
	}
	return false
}

// SetUpHost runs the file's host_setup. What undoes it is in the journal before.
func SetUpHost(ctx context.Context, l *running.Lab, j *journal.Journal, texts spec.ScriptTexts) error {
	scripts := l.Plan().Scripts
	if scripts == nil {
		return nil
	}
	timeout := time.Duration(scripts.Timeout)
	if scripts.HostTeardown != "" {
		step := journal.Step{Kind: KindHostScript, Path: l.State().HostTeardown(), Value: timeout.String()}
		err := j.Make(step, func() (journal.Learnt, error) {
			return journal.Learnt{}, state.WriteFile(step.Path, []byte(texts[scripts.HostTeardown]))
		})
		if err != nil {
			return err
		}
	}
	if scripts.HostSetup == "" {
		return nil
	}
	path := l.State().HostSetup()
	if err := state.WriteFile(path, []byte(texts[scripts.HostSetup])); err != nil {
		return err
	}
	log, err := openHostLog(l.State().HostSetupLog())
	if err != nil {
		return err
	}
	defer log.Close()
	// A file, as what the script starts and leaves behind may go on to write.
	if err := runHostScript(ctx, path, log, timeout); err != nil {
		return fmt.Errorf("scripts: host_setup %s: %w: %s; correct the script, or let it end with 0", scripts.HostSetup, err, node.LastLines(log.Name()))
	}
	return nil
}

func openHostLog(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
}

// hostOutput is what a host_teardown writes into. It needs no free disk, as undo must not: its end is
// in memory, and all of it in a log where there is room. Into a file, a script's own echo would fail.
type hostOutput struct {
	log  io.Writer
	last node.Tail
}

func (o *hostOutput) Write(text []byte) (int, error) {
	if o.log != nil {
		_, _ = o.log.Write(text)
	}
	return o.last.Write(text)
}

// errNotStarted is a script's that did not run, for a reason that may be gone the next time.
var errNotStarted = errors.New("it could not be started")

// runHostTeardown runs a host's teardown script. A failure is reported and does not keep the lab: it
// would fail again, and nothing of nines depends on it. One that was not started stays in the journal.
// A Ctrl-C does not end it: what is left of a lab then is undone all the same.
func runHostTeardown(ctx context.Context, u journal.Undoing) error {
	if _, err := os.Lstat(u.Path); errors.Is(err, fs.ErrNotExist) {
		return nil // the journal has the step, and nines was killed before it wrote the script
	}
	timeout, err := time.ParseDuration(u.Value)
	if err != nil {
		return fmt.Errorf("the timeout of %s: %w", u.Path, err)
	}
	output := &hostOutput{}
	if log, err := openHostLog(filepath.Join(filepath.Dir(u.Path), state.HostTeardownLog)); err == nil {
		defer log.Close()
		output.log = log
	}
	err = runHostScript(context.WithoutCancel(ctx), u.Path, output, timeout)
	if errors.Is(err, errNotStarted) {
		return fmt.Errorf("run the file's host_teardown: %w", err)
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) { // something it left has its output open
		u.Notef("the file's host_teardown failed, so what it should have removed may still be there: %v: %s", err, output.last.Line())
	}
	return nil
}

// runHostScript runs a script on the host, in the root folder.
func runHostScript(ctx context.Context, path string, output io.Writer, timeout time.Duration) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotStarted, err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	argv := interpreted(string(text), path)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = os.Environ()
	// Where the leash is missing, as undo must not need it, the group is ended here.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = leashDelay
	if initPath, err := node.Program("nines-init"); err == nil {
		if found, err := exec.LookPath(argv[0]); err == nil {
			cmd.Path = found
		}
		leashed, err := leash(ctx, initPath, cmd)
		if err != nil {
			return fmt.Errorf("%w: %w", errNotStarted, err)
		}
		defer leashed.Release()
		cmd = leashed.Cmd
	}
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		// An interpreter that is missing will be missing the next time, too.
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return err
		}
		return fmt.Errorf("%w: %w", errNotStarted, err)
	}
	err = cmd.Wait()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("it ran longer than %v, the timeout of scripts", timeout)
	}
	return err
}
