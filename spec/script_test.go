package spec

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const scriptFile = `
name: s
topology:
  nodes:
    a: {variables: {role: loadgen}, scripts: {setup: "sub/a.sh", experiment: "echo 1\necho 2\n"}}
    b: {scripts: {experiment: "sub/a.sh"}}
variables: {rate: 1000, size: 64}
scripts: {host_setup: "sub/host.sh", timeout: 30s}
sweep: {variables.rate: [1000, 2e3], variables.size: [64]}
`

func loadScripts(t *testing.T, text string) (*File, []Run, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"sub/a.sh": "#!/bin/sh\nexit 0\n", "sub/host.sh": "true\n", "binary": "\x7fELF\x00", "long": strings.Repeat("x", maxScriptBytes+1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := Load(filepath.Join(dir, "test.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	runs, err := file.Runs()
	return file, runs, err
}

func TestScriptsAreReadBesideTheFile(t *testing.T) {
	file, runs, err := loadScripts(t, scriptFile)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := file.ScriptTexts(runs)
	if err != nil {
		t.Fatal(err)
	}
	for script, want := range map[Script]string{"sub/a.sh": "#!/bin/sh\nexit 0\n", "sub/host.sh": "true\n", "echo 1\necho 2\n": "echo 1\necho 2\n"} {
		if texts[script] != want {
			t.Errorf("the text of %s is %q", script, texts[script])
		}
	}
	if len(texts) != 3 {
		t.Errorf("there are %d texts", len(texts))
	}
	// A result has kept them, and their files may be gone.
	moved, err := Load("/nowhere/test.yaml", []byte(scriptFile))
	if err != nil {
		t.Fatal(err)
	}
	moved.UseScripts(ScriptTexts{"sub/a.sh": "kept"})
	if _, err := moved.ScriptTexts(runs); err == nil || !strings.Contains(err.Error(), "no copy of the script sub/host.sh") {
		t.Errorf("a text that is missing: %v", err)
	}
	moved.UseScripts(ScriptTexts{"sub/a.sh": "kept", "sub/host.sh": "kept"})
	if texts, err := moved.ScriptTexts(runs); err != nil || texts["sub/a.sh"] != "kept" {
		t.Errorf("the kept texts are %v, %v", texts, err)
	}
}

// TestVariablesAreSwept: a script gets the text that the file has, and the result a number.
func TestVariablesAreSwept(t *testing.T) {
	_, runs, err := loadScripts(t, scriptFile)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 2 {
		t.Fatalf("there are %d runs", len(runs))
	}
	second := runs[1]
	if got := second.Experiment.Variables["rate"]; got != "2e3" {
		t.Errorf("the variable is %q", got)
	}
	if got := second.VariableMap()["variables.rate"]; got != 2000.0 {
		t.Errorf("the result's variable is %v", got)
	}
	if e := second.Experiment; e.Scripts.Timeout.String() != "30s" || e.Scripts.UploadLimit != 256<<20 || e.Topology.Nodes["a"].Variables["role"] != "loadgen" {
		t.Errorf("the experiment has %+v", e.Scripts)
	}
}

func TestValidateCountsTrialsOfScripts(t *testing.T) {
	file, _, err := loadScripts(t, scriptFile+"repeat: 3\n")
	if err != nil {
		t.Fatal(err)
	}
	meaning, err := file.Meaning()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := meaning.Write(&out); err != nil || meaning.Trials != 6 || !strings.Contains(out.String(), "6 (runs 2, repeat 3) of scripts") {
		t.Errorf("%d trials, %v:\n%s", meaning.Trials, err, out.String())
	}
}

func TestLimitsOfScriptsHaveDefaults(t *testing.T) {
	_, runs, err := loadScripts(t, "name: s\ntopology: {nodes: {a: {scripts: {setup: \"true\\n\"}}}}\n")
	if err != nil {
		t.Fatal(err)
	}
	e := runs[0].Experiment
	if e.Scripts == nil || time.Duration(e.Scripts.Timeout) != 10*time.Minute || e.Scripts.UploadLimit != 256<<20 || !e.HasScripts() || e.RunsScripts() {
		t.Errorf("it has %+v", e.Scripts)
	}
}

func TestWrongScriptsAreRefused(t *testing.T) {
	node := func(node, more string) string {
		return "name: s\ntopology: {nodes: {a: {" + node + "}}}\n" + more
	}
	for name, test := range map[string]struct{ text, wrong string }{
		"a missing file":     {node(`scripts: {setup: none.sh}`, ""), "none.sh: no such file"},
		"a folder":           {node(`scripts: {setup: sub}`, ""), "not a plain file"},
		"a pipe":             {node(`scripts: {setup: pipe}`, ""), "not a plain file"},
		"a binary":           {node(`scripts: {setup: binary}`, ""), "not text"},
		"a long file":        {node(`scripts: {setup: long}`, ""), "longer than"},
		"only a first line":  {node(`scripts: {setup: "#!/bin/sh"}`, ""), "only an interpreter line"},
		"a path with a tab":  {node(`scripts: {setup: "a\tb"}`, ""), "cannot be a script's path"},
		"a virtual machine":  {node(`runtime: vm, variables: {a: 1}, scripts: {setup: sub/a.sh}`, ""), ""},
		"a pod":              {node(`runtime: pod, variables: {a: 1}`, ""), "in a pod"},
		"a wrong key":        {node(`scripts: {start: sub/a.sh}`, ""), "unknown key"},
		"a variable's name":  {node(`variables: {"a b": 1}`, ""), "variable's name"},
		"a variable's value": {node(``, "variables: {a: [1]}\n"), "must be a single value"},
		"a node's swept":     {node(`variables: {a: 1}`, "sweep: {nodes.a.variables: [{a: 1}, {a: 2}]}\n"), "swept one by one"},
		"the scripts, swept": {node(``, "sweep: {scripts.timeout: [1s, 2s]}\n"), "cannot be swept"},
		"a short timeout":    {node(``, "scripts: {timeout: 1ms}\n"), "too small"},
		"a trace of nothing": {node(`scripts: {experiment: sub/a.sh}`, "trace: true\n"), "no traffic to trace"},
		"a search":           {searching("method: {kind: rfc2544}"), "chooses its own trials"},
		"no search":          {searching("#"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			file, runs, err := loadScripts(t, test.text)
			if err == nil {
				_, err = file.ScriptTexts(runs)
			}
			if (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("%v, want %q", err, test.wrong)
			}
		})
	}
}

// searching is an experiment with traffic, a script and a method.
func searching(method string) string {
	return `
name: s
topology:
  nodes: {a: {scripts: {experiment: sub/a.sh}}, b: {}}
  links: [{endpoints: ["a:e", "b:e"]}]
traffic: {from: "a:e", to: "b:e"` + map[bool]string{true: ", rate_pps: 1", false: ""}[method == "#"] + "}\n" + method + "\n"
}
