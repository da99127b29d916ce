package controltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// process is one program of the control plane, with its output in a file.
type process struct {
	name, log string
	cmd       *exec.Cmd
	ended     chan struct{}
}

// start runs a program of nines-kube. It ends with the test's process, whatever ends that.
func (p *Plane) start(t testing.TB, name string, arguments ...string) *process {
	t.Helper()
	started := &process{name: name, log: filepath.Join(p.folder, name+".log"), ended: make(chan struct{})}
	out, err := os.OpenFile(started.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }() // the program has its own
	started.cmd = exec.Command(p.program, append([]string{name}, arguments...)...)
	started.cmd.Stdout, started.cmd.Stderr = out, out
	started.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := started.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		_ = started.cmd.Wait() // how it ended, its log tells
		close(started.ended)
	}()
	return started
}

// kill ends the program as a crash would, and waits for its end.
func (s *process) kill() {
	if s != nil {
		_ = s.cmd.Process.Kill() // it may have ended
		<-s.ended
	}
}

// tail is the end of a program's log.
func (s *process) tail() string {
	const most = 3000
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("the end of %s:\n%s", s.log, text[max(0, len(text)-most):])
}
