package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// TestManual: there is a page for each verb, which apropos finds by its name and summary, and which man shows with its
// options and examples as the help text has them.
func TestManual(t *testing.T) {
	labtest.Require(t, "man", labtest.Installed("man"))
	dir := t.TempDir()
	write := exec.Command(labtest.Nines(t, "manual"), dir)
	write.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000")
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range everyCommand(newRootCommand()) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		text, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if c.Hidden {
			if err == nil {
				t.Errorf("%s is hidden, and has a page", name)
			}
			continue
		}
		if err != nil {
			t.Error(err)
		} else if want := ".SH NAME\n" + name + " - " + strings.ReplaceAll(c.Short, "-", `\-`); !strings.Contains(strings.ReplaceAll(string(text), `\-`, "-"), strings.ReplaceAll(want, `\-`, "-")) {
			t.Errorf("%s does not begin with %q", name, want)
		}
	}
	for page, wants := range map[string][]string{
		"nines-figure":     {"Nov 2023", "         histogram   number of packets by latency", "       --kind string\n", "nines figure results/latest --kind hdr    "},
		"nines-results-ls": {"OPTIONS OF NINES RESULTS\n", "       --out string\n"},
		"nines-duet":       {"       -a, --a string\n", "nines duet --a links.*.kind=veth --b links.*.kind=xdp"},
	} {
		show := exec.Command("man", "--warnings=w", "-l", filepath.Join(dir, page+".1"))
		show.Env = append(os.Environ(), "MANWIDTH=80", "LC_ALL=C.UTF-8", "MAN_KEEP_FORMATTING=")
		out, err := show.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, want := range wants {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s lacks %q:\n%s", page, want, out)
			}
		}
	}
}
