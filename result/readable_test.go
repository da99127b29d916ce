package result

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

// TestWhatMayHoldSecretsIsPrivate: values of env and variables are in the experiment, in the plan, and in what scripts
// print. A file that not everyone may read has a copy of that kind, and passwords may be in scripts. All else is for
// everyone, whose results they are.
func TestWhatMayHoldSecretsIsPrivate(t *testing.T) {
	guarded := filepath.Join(t.TempDir(), "guarded.yaml")
	if err := os.WriteFile(guarded, []byte("name: x\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	const secret, open = os.FileMode(0o600), os.FileMode(0o644)
	for name, test := range map[string]struct {
		text, origin string
		mode         os.FileMode
	}{
		"no secret":                 {"name: x\nnodes: {a: {cpus: 1}}\n", "/lab/x.yaml", open},
		"env":                       {"name: x\nnodes: {a: {env: {TOKEN: hush}}}\n", "/lab/x.yaml", secret},
		"variables":                 {"name: x\nvariables: {password: hush}\n", "", secret},
		"a file that is not public": {"name: x\n", guarded, secret},
	} {
		w := mustCreate(t, t.TempDir())
		if err := errors.Join(w.WriteExperiment([]byte(test.text), test.origin), w.WriteHost(1), w.WritePlan(1)); err != nil {
			t.Fatal(err)
		}
		mustAdd(t, w, record(4, 10))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		w, err := Reopen(w.Dir()) // its scripts are as private as those before
		if err != nil {
			t.Fatal(err)
		}
		folder, err := w.NewTrialScripts()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.WriteScripts(map[string]string{"setup.sh": "login hush"}), w.WriteScriptVariables(folder, map[string]string{"a": "hush"})); err != nil {
			t.Fatal(err)
		}
		scripted := record(4, 10)
		scripted.Trial.Scripts = []Script{{Node: "a", Status: "0"}}
		mustAdd(t, w, scripted)
		lab, err := w.NewLabScripts()
		if err != nil {
			t.Fatal(err)
		}
		private := os.ModeDir | test.mode | test.mode>>2&0o111 // who may read a folder may enter it
		for file, want := range map[string]os.FileMode{
			ExperimentFile: test.mode, PlanFile: test.mode, lab: private, filepath.Join(ScriptsFolder, "0002"): private,
			ScriptsFile: secret, filepath.Join(ScriptsFolder, "0002", VariablesFile): secret,
			SummaryFile: open, SummaryCSVFile: open, HostFile: open, filepath.Join(trialsDir, "0001", DetailsFile): open,
			".": os.ModeDir | 0o755, filepath.Join(trialsDir, "0001"): os.ModeDir | 0o755,
		} {
			info, err := os.Stat(filepath.Join(w.Dir(), file))
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode(); got != want {
				t.Errorf("%s: %s has mode %v, want %v", name, file, got, want)
			}
		}
	}
}

// TestWhatMayNotBeReadIsSaid: a result of which someone may not read a part is no result without that part.
func TestWhatMayNotBeReadIsSaid(t *testing.T) {
	w := writeAll(t, labtest.OpenFolder(t))
	dir := w.Dir()
	refused := func(hidden string, err error) {
		t.Helper()
		if err == nil || exit.Code(err) != exit.Lacks || !strings.Contains(err.Error(), hidden) || !strings.Contains(err.Error(), "sudo") {
			t.Errorf("%s: %v, exit code %d", hidden, err, exit.Code(err))
		}
	}
	for _, hidden := range []string{SummaryFile, BaselinesFile, filepath.Join(trialsDir, "0001", HlogFile), filepath.Join(trialsDir, "0002", EngineLogFile)} {
		path := filepath.Join(dir, hidden)
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		labtest.AsAnother(t, func() {
			_, err := Open(dir)
			refused(hidden, err)
		})
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The trials can be shown without what is the owner's alone.
	for _, hidden := range []string{ExperimentFile, PlanFile} {
		path := filepath.Join(dir, hidden)
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		labtest.AsAnother(t, func() {
			r, err := Open(dir)
			if err != nil {
				t.Errorf("without %s: %v", hidden, err)
				return
			}
			refused(hidden, r.MayShowExperiment())
			_, err = r.Experiment()
			if hidden == PlanFile {
				_, err = r.Plan()
			}
			refused(hidden, err)
		})
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Neither a folder that may not be entered.
	if err := os.Chmod(filepath.Join(dir, trialsDir), 0o700); err != nil {
		t.Fatal(err)
	}
	labtest.AsAnother(t, func() {
		_, err := Open(dir)
		refused(filepath.Join(trialsDir, "0001"), err)
	})
}
