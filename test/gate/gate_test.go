// Package gate runs the pipelines of examples/ci as their runners would: their commands are taken from the files, and run
// in a repository with two versions of a forwarder. What a cloud, a remote machine and sudo do is played by scripts.
package gate

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

// played are the programs of a runner that a test has not.
var played = map[string]string{
	"sudo":    `exec "$@"`,
	"apt-get": `exit 0`,
	"hcloud":  `echo "$@" >> "$CALLS"; if [ "$2" = ip ]; then echo 192.0.2.1; fi`,
	"ssh":     `while [ "$1" = -o ]; do shift 2; done; shift; cd "$RENTED" && exec sh -c "$*"`,
	"scp":     `if [ "$1" = -r ]; then shift; fi; case $1 in root@*) exec cp -r "$RENTED/${1#*:}" "$2";; *) exec cp "$1" "$RENTED/${2#*:}";; esac`,
}

// runner is a checkout of a branch beside its base, with the environment of a job.
type runner struct {
	folder, outside string
	environment     []string
}

// newRunner has a forwarder as the base, and one that computes for so many microseconds with each packet as the branch.
func newRunner(t *testing.T, microseconds string) *runner {
	t.Helper()
	r := &runner{folder: filepath.Join(t.TempDir(), "checkout"), outside: t.TempDir()}
	for _, folder := range []string{"bin", "rented"} {
		must(t, os.Mkdir(filepath.Join(r.outside, folder), 0o755))
	}
	for name, script := range played {
		must(t, os.WriteFile(filepath.Join(r.outside, "bin", name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	bin := filepath.Join(labtest.Repository(), "bin")
	r.environment = append(os.Environ(),
		"PATH="+filepath.Join(r.outside, "bin")+":"+bin+":"+os.Getenv("PATH"), "CALLS="+r.path("calls"), "RENTED="+r.path("rented"),
		"GITHUB_BASE_REF=main", "GITHUB_STEP_SUMMARY="+r.path("summary.md"),
		"CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main", "CI_JOB_ID=1", "NINES_PACKAGE="+r.path("nines.deb"),
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=t", "GIT_CONFIG_KEY_1=user.email", "GIT_CONFIG_VALUE_1=t@example.org")
	must(t, os.WriteFile(r.path("nines.deb"), nil, 0o644))

	origin := r.path("origin")
	must(t, os.Mkdir(origin, 0o755))
	program := read(t, filepath.Join(labtest.Repository(), "examples/devices/fwd.c"))
	gate := read(t, filepath.Join(labtest.Repository(), "examples/ci/gate.yaml"))
	must(t, os.WriteFile(filepath.Join(origin, "fwd.c"), []byte(program), 0o644))
	must(t, os.WriteFile(filepath.Join(origin, "gate.yaml"), []byte(strings.Replace(gate, "for: 20s", "for: 2s", 1)), 0o644))
	r.does(t, origin, "git init -q -b main && git add . && git commit -qm base && git clone -q . "+r.folder)
	changed := strings.Replace(program, "atof(argv[3]) : 0", "atof(argv[3]) : "+microseconds, 1)
	must(t, os.WriteFile(filepath.Join(r.folder, "fwd.c"), []byte(changed), 0o644))
	return r
}

func (r *runner) path(name string) string { return filepath.Join(r.outside, name) }

// shell runs a script as a runner does: each command must succeed.
func (r *runner) shell(folder, script string) (code int, said string) {
	c := exec.Command("bash", "-e", "-o", "pipefail", "-c", script)
	c.Dir, c.Env = folder, r.environment
	output, _ := c.CombinedOutput() // its exit code is looked at
	return c.ProcessState.ExitCode(), string(output)
}

func (r *runner) does(t *testing.T, folder, script string) {
	t.Helper()
	if code, said := r.shell(folder, script); code != 0 {
		t.Fatalf("%s: exit code %d\n%s", script, code, said)
	}
}

// cases are a branch that changes nothing that is measured, and one that is slower. A busy host may leave either undecided.
var cases = []struct {
	microseconds string
	codes        []int
}{
	{"0", []int{exit.Done, exit.Undecided}},
	{"300", []int{exit.Violated, exit.Undecided}},
}

func TestOnASelfHostedRunner(t *testing.T) {
	labtest.Experiment(t)
	labtest.Require(t, "git", labtest.Installed("git"))
	var workflow struct {
		Jobs map[string]struct{ Steps []struct{ Run, If string } }
	}
	must(t, yaml.Unmarshal([]byte(read(t, filepath.Join(labtest.Repository(), "examples/ci/github.yml"))), &workflow))
	for _, c := range cases {
		r := newRunner(t, c.microseconds)
		ran, code, said := 0, 0, ""
		for _, step := range workflow.Jobs["gate"].Steps {
			if step.If == "always()" && step.Run != "" {
				r.does(t, r.folder, step.Run)
			}
			if step.Run == "" || step.If != "" || code != 0 {
				continue
			}
			ran++
			code, said = r.shell(r.folder, step.Run)
		}
		if ran != 2 || !slices.Contains(c.codes, code) {
			t.Fatalf("%s µs slower: step %d has exit code %d\n%s", c.microseconds, ran, code, said)
		}
		r.hasDecisions(t, filepath.Join(r.folder, "expectations.xml"), r.path("summary.md"))
		if code == exit.Violated && !strings.Contains(said, "::error file=gate.yaml,line=") {
			t.Errorf("no annotation in\n%s", said)
		}
	}
}

func TestOnARentedMachine(t *testing.T) {
	labtest.Experiment(t)
	labtest.Require(t, "git", labtest.Installed("git"))
	job := pipelineOf(t)
	for _, c := range cases {
		r := newRunner(t, c.microseconds)
		r.environment = append(r.environment, "MACHINE_NAME="+strings.ReplaceAll(job.Names["MACHINE_NAME"], "$CI_JOB_ID", "1"))
		code, said := r.shell(r.folder, strings.Join(slices.Concat(job.Before, job.Script), "\n")) // in one shell
		if !slices.Contains(c.codes, code) {
			t.Fatalf("%s µs slower: exit code %d\n%s", c.microseconds, code, said)
		}
		r.does(t, r.folder, strings.Join(job.After, "\n"))
		r.hasDecisions(t, filepath.Join(r.folder, "expectations.xml"), filepath.Join(r.folder, "expectations.md"))
		if calls := read(t, r.path("calls")); !strings.Contains(calls, "server create --name nines-1 ") || !strings.HasSuffix(calls, "server delete nines-1\n") {
			t.Errorf("the machine was not rented and given back:\n%s", calls)
		}
	}
}

// TestARentedMachineIsGivenBack: also if the branch does not compile.
func TestARentedMachineIsGivenBack(t *testing.T) {
	labtest.Require(t, "git", labtest.Installed("git"))
	job := pipelineOf(t)
	r := newRunner(t, "0")
	r.environment = append(r.environment, "MACHINE_NAME=nines-1")
	must(t, os.WriteFile(filepath.Join(r.folder, "fwd.c"), []byte("no program"), 0o644))
	if code, said := r.shell(r.folder, strings.Join(slices.Concat(job.Before, job.Script), "\n")); code == 0 {
		t.Fatalf("it compiles:\n%s", said)
	}
	r.does(t, r.folder, strings.Join(job.After, "\n"))
	if calls := read(t, r.path("calls")); !strings.HasSuffix(calls, "server delete nines-1\n") {
		t.Errorf("the machine was not given back:\n%s", calls)
	}
}

// job is that of the pipeline on a rented machine.
type job struct {
	Before []string          `yaml:"before_script"`
	Script []string          `yaml:"script"`
	After  []string          `yaml:"after_script"`
	Names  map[string]string `yaml:"variables"`
}

func pipelineOf(t *testing.T) job {
	t.Helper()
	var pipeline struct{ Latency job }
	must(t, yaml.Unmarshal([]byte(read(t, filepath.Join(labtest.Repository(), "examples/ci/gitlab.yml"))), &pipeline))
	return pipeline.Latency
}

// hasDecisions looks for all three expectations in what a page of CI reads, and for the result.
func (r *runner) hasDecisions(t *testing.T, junit, markdown string) {
	t.Helper()
	var suites struct {
		Tests int `xml:"tests,attr"`
	}
	if err := xml.Unmarshal([]byte(read(t, junit)), &suites); err != nil || suites.Tests != 3 {
		t.Errorf("%v: %d decisions", err, suites.Tests)
	}
	if text := read(t, markdown); !strings.Contains(text, "`b.p50 <= 1.05 * a.p50`") {
		t.Errorf("the summary is\n%s", text)
	}
	if found, _ := filepath.Glob(filepath.Join(r.folder, "results/gate/*/report.html")); len(found) != 1 {
		t.Errorf("the result is missing: %v", found)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}
