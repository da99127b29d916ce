package vm

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// TestVlabRun tries the first experiment that users meet, shortened, in a laboratory of
// its own: the result comes to this host, with every packet in it, and says what its
// timings are worth.
func TestVlabRun(t *testing.T) {
	labtest.LongForm(t) // a boot; TestVlabExec is the short form
	repository, _ := required(t)
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), filepath.Join(repository, "bin", "nines"), "vlab", "run", filepath.Join(repository, "examples", "quickstart.yaml"),
		"--set", "repeat=1", "--set", "sweep.traffic.rate_pps=[1000]", "--set", "sweep.links.*.kind=[veth]", "--set", "traffic.duration=1s",
		"--out", out, "--append", "nosoftlockup", "--format", "json")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && !labtest.NoneValid(stderr.String()) {
		t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
	}
	summaries, _ := filepath.Glob(filepath.Join(out, "quickstart", "*", "summary.json"))
	if len(summaries) != 1 {
		t.Fatalf("%d results in %s:\n%s", len(summaries), out, &stderr)
	}
	text, err := os.ReadFile(summaries[0])
	if err != nil {
		t.Fatal(err)
	}
	var summary struct {
		Trials []struct {
			Received uint64 `json:"rx_packets"`
			Verdict  string
		}
	}
	if err := json.Unmarshal(text, &summary); err != nil {
		t.Fatal(err)
	}
	if len(summary.Trials) != 1 || summary.Trials[0].Received == 0 {
		t.Errorf("the trials: %+v", summary.Trials)
	}
	if strings.Contains(stderr.String(), "TCG") && (!strings.Contains(stderr.String(), "timings mean nothing") || summary.Trials[0].Verdict == "clean") {
		t.Errorf("translated, and the verdict is %s:\n%s", summary.Trials[0].Verdict, &stderr)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(summaries[0]), "report.html")); err != nil {
		t.Error(err)
	}
}

func TestVlabExec(t *testing.T) {
	repository, _ := required(t)
	file := filepath.Join(t.TempDir(), "a file")
	if err := os.WriteFile(file, []byte("from here\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(repository, "bin", "nines"), "vlab", "exec", "--copy", file, "--append", "nines.test=1", "--",
		"sh", "-c", `cat "$0" - /proc/cmdline; nines --version >&2; exit 7`, file)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("and through the input\n"), &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("%v\n%s", err, &stderr)
	}
	if got := stdout.String(); !strings.HasPrefix(got, "from here\nand through the input\n") || !strings.Contains(got, " nines.test=1") {
		t.Errorf("it printed %q", got)
	}
}
