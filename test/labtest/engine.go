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
	killed  bool
}

// EnginePath is where the built engine is.
func EnginePath(t testing.TB) string {
	t.Helper()
	path := filepath.Join(repository(), "bin", "nines-engine")
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
	command.Stderr = os.Stderr
	command.ExtraFiles = files
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
	t.Cleanup(func() {
		_ = engine.Close()
		if err := command.Wait(); err != nil && !engine.killed {
			t.Errorf("engine: %v", err)
		}
	})
	return engine
}

// Kill ends it as a crash would.
func (e *Engine) Kill(t testing.TB) {
	t.Helper()
	e.killed = true
	if err := e.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = e.process.Wait()
}
