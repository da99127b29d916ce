package labtest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Python is the interpreter that has the packages of hack/setup/requirements.txt.
func Python(t testing.TB, modules ...string) string {
	t.Helper()
	python := filepath.Join(Repository(), "build", "venv", "bin", "python3")
	for _, module := range modules {
		Require(t, "Python's "+module+" in build/venv (make setup-test)", exec.Command(python, "-c", "import "+module).Run() == nil)
	}
	return python
}
