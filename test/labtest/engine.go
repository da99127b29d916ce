package labtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"nines.dev/nines/engine/client"
)

// Engine is an engine that a test runs by itself, without a lab.
type Engine struct {
	*client.Client
	process *exec.Cmd
	ended   bool
}

// EnginePath is where the built engine is.
func EnginePath(t testing.TB) string {
	t.Helper()
	path := filepath.Join(Repository(), "bin", "nines-engine")
	_, err := os.Stat(path)
	Require(t, "bin/nines-engine (make build)", err == nil)
	return path
}

// StartEngine runs an engine until the test ends, in the network namespace of that name
// if one is given, with files as its descriptors from 3 on. It has to end well.
func StartEngine(t testing.TB, namespace string, files ...*os.File) *Engine {
	t.Helper()
	command := exec.Command(EnginePath(t))
	if namespace != "" {
		command = exec.Command("ip", "netns", "exec", namespace, EnginePath(t))
	}
	command.ExtraFiles = files
	return RunEngine(t, command)
}

// RunEngine runs a command that becomes an engine, until the test ends. It has to end well.
func RunEngine(t testing.TB, command *exec.Cmd) *Engine {
	t.Helper()
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	engine := &Engine{Client: client.New(out, in, in), process: command}
	t.Cleanup(func() { engine.End(t) })
	return engine
}

// PID is its process.
func (e *Engine) PID() int { return e.process.Process.Pid }

// End ends it before the test does.
func (e *Engine) End(t testing.TB) {
	t.Helper()
	if e.ended {
		return
	}
	e.ended = true
	_ = e.Close()
	if err := e.process.Wait(); err != nil {
		t.Errorf("engine: %v", err)
	}
}

// Kill ends it as a crash would.
func (e *Engine) Kill(t testing.TB) {
	t.Helper()
	e.ended = true
	if err := e.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = e.process.Wait()
}
