package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal/folder"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/plan"
)

// defaultRoot is where labs keep their state. /run is emptied at boot, as a lab is.
const defaultRoot = "/run/nines"

// Root is the folder of all labs' state: NINES_STATE_DIR, or /run/nines.
func Root() string {
	if dir := os.Getenv("NINES_STATE_DIR"); dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			return abs
		}
		return dir
	}
	return defaultRoot
}

// state is the folder of one lab.
type state struct{ dir string }

// labsFolder is the folder of labs in the state folder.
const labsFolder = "labs"

func stateOf(name string) state { return state{filepath.Join(Root(), labsFolder, name)} }

func (s state) journal() string    { return filepath.Join(s.dir, folder.JournalName) }
func (s state) experiment() string { return filepath.Join(s.dir, "experiment.yaml") }
func (s state) plan() string       { return filepath.Join(s.dir, "plan.json") }
func (s state) settings() string   { return filepath.Join(s.dir, "settings.json") }
func (s state) isolation() string  { return filepath.Join(s.dir, "isolation.json") }
func (s state) lock() string       { return filepath.Join(s.dir, "lock") }
func (s state) tuning() string     { return filepath.Join(s.dir, "tuning.json") }
func (s state) measured() string   { return filepath.Join(s.dir, "measured.json") }
func (s state) engines() string    { return filepath.Join(s.dir, "engines") }
func (s state) logs() string       { return filepath.Join(s.dir, "logs") }
func (s state) switches() string   { return filepath.Join(s.dir, "switches") }

// scripts is the folder of the nodes' folders of scripts; the host's scripts are beside it.
func (s state) scripts() string      { return filepath.Join(s.dir, "scripts") }
func (s state) hostSetup() string    { return filepath.Join(s.dir, "host_setup") }
func (s state) hostTeardown() string { return filepath.Join(s.dir, "host_teardown") }
func (s state) hostSetupLog() string { return filepath.Join(s.dir, "host_setup.log") }

// hostTeardownLog is beside the script.
const hostTeardownLog = "host_teardown.log"

// hugepageLedger is the file in which the labs of a host record the hugepages that they have
// reserved. Labs of all state folders share it, as the host has one number.
const hugepageLedger = defaultRoot + "/hugepages.json"

// engineSocket is the control socket of a node's app engine.
func (s state) engineSocket(nodeName string) string {
	return filepath.Join(s.engines(), nodeName+".sock")
}

// checkName refuses names that are not a plain folder name.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return exit.Wrongf("%q cannot be the name of a lab; nines ls lists those that are up", name)
	}
	return nil
}

func (s state) readPlan() (*plan.Plan, error) {
	return replace.Read[*plan.Plan](s.plan())
}

// finished is false only for a lab that has certainly not been made whole, or not been changed to the end:
// one of which nobody can tell must not pass for the remains of a start.
func (s state) finished() bool {
	_, err := os.Stat(s.settings())
	return !errors.Is(err, fs.ErrNotExist)
}

func (s state) writePlan(p *plan.Plan) error { return writeJSON(s.plan(), p) }

// The plan and the experiment hold the env of nodes, which may have passwords in it, so only the
// owner may read what a lab keeps.

func writeJSON(path string, value any) error {
	return wrote(path, replace.JSON(path, value, 0o600))
}

func writeFile(path string, text []byte) error {
	return wrote(path, replace.File(path, text, 0o600))
}

// wrote names the file whose write failed: the error's own path is a temporary file.
func wrote(path string, err error) error {
	if failed := new(fs.PathError); errors.As(err, &failed) {
		return &StateError{path, failed.Err}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func absentIsFine(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
