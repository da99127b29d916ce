package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sidesOf are the settings of both sides of what a call would measure.
func sidesOf(t *testing.T, call duetCall) (a, b, noted string) {
	t.Helper()
	var said []string
	file, err := call.compose(t.Context(), func(format string, args ...any) {
		if !strings.Contains(format, "so the engines") { // the host may be busy
			said = append(said, format)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := file.Experiment()
	if err != nil {
		t.Fatal(err)
	}
	return e.Duet.Sides[0].SettingsText(), e.Duet.Sides[1].SettingsText(), strings.Join(said, "\n")
}

func TestWhatADuetCompares(t *testing.T) {
	quickstart := filepath.Join("..", "..", "examples", "quickstart.yaml")
	changed := filepath.Join(t.TempDir(), "changed.yaml")
	text, err := os.ReadFile("duet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	base, _, _ := strings.Cut(string(text), "\nduet:")
	plain := filepath.Join(filepath.Dir(changed), "plain.yaml")
	for path, text := range map[string]string{plain: base, changed: strings.Replace(base, "runtime: lxc", "runtime: oci, driver: podman, image: busybox", 1)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		call duetCall
		a, b string
		left bool
	}{
		{duetCall{}, "links.*.kind=veth", "links.*.kind=bridge", false},
		{duetCall{b: []string{"links.*.kind=xdp"}}, "links.*.kind=veth", "links.*.kind=xdp", false},
		{duetCall{files: []string{quickstart}, b: []string{"links.*.kind=bridge"}}, "the file as it is", "links.*.kind=bridge", true},
		{duetCall{files: []string{plain, changed}}, "nodes.dut.runtime=lxc, nodes.dut.driver=the default, nodes.dut.image=the default", "nodes.dut.runtime=oci, nodes.dut.driver=podman, nodes.dut.image=busybox", false},
	} {
		if a, b, noted := sidesOf(t, c.call); a != c.a || b != c.b || (noted != "") != c.left {
			t.Errorf("%+v: %q, %q, %q", c.call, a, b, noted)
		}
	}
}

func TestDuetRefuses(t *testing.T) {
	wantRefusals(t, "duet", map[string]string{
		"a b c":                  "takes one file, two, or none",
		"a b --a x=y":            "two files are the sides themselves",
		"--a tuning=latency":     "one for the whole host",
		"--a links.*.kind":       "--a links.*.kind: has no value",
		"--b traffic.rate_pps=1": "by one schedule",
		"--ask mean":             "undisturbed p99",
		"--for 1ms":              "too small",
		"nothing.yaml":           "cannot be read",
	})
}
