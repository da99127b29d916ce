package lab

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/power"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestSoftLetsProcessesEnd: what runs in a node gets SIGTERM and time; what ignores it is ended after
// HaltPatience.
func TestSoftLetsProcessesEnd(t *testing.T) {
	forRuntimes(t, func(t *testing.T, runtime string) {
		text, _, _ := strings.Cut(strings.Replace(labs.Power, "name: tbpower", "name: tbsoft"+runtime, 1), "power:")
		text = strings.Replace(text, "RUNTIME", keysOf(t, runtime), 1)
		lab := up(t, text)
		in(t, lab, "dut", "sh", "-c", `sh -c 'trap "sleep 0.2; echo ended > /tmp/said; exit 0" TERM; touch /tmp/ready; while :; do sleep 0.1; done' >/dev/null 2>&1 &
			while [ ! -e /tmp/ready ]; do sleep 0.05; done; rm /tmp/ready`)
		t.Cleanup(func() { _ = os.Remove("/tmp/said") }) // of netns, which sees the host's files
		if err := Power(context.Background(), lab.Name(), "dut", power.Soft, PowerOptions{By: "a test", Progress: func(string) {}}); err != nil {
			t.Fatal(err)
		}
		settled(t, lab, "dut", false)
		if err := Power(context.Background(), lab.Name(), "dut", power.On, PowerOptions{By: "a test", Progress: func(string) {}}); err != nil {
			t.Fatal(err)
		}
		now, err := Open(lab.Name())
		if err != nil {
			t.Fatal(err)
		}
		if said := in(t, now, "dut", "cat", "/tmp/said"); said != "ended" {
			t.Errorf("the process could not end by itself: %q", said)
		}
		if runtime != "netns" {
			return
		}
		in(t, now, "dut", "sh", "-c", `trap "" TERM; sleep 1000 >/dev/null 2>&1 &`)
		var lines []string
		if err := Power(context.Background(), lab.Name(), "dut", power.Soft, PowerOptions{By: "a test", Progress: func(line string) { lines = append(lines, line) }}); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "not ended within") }) {
			t.Errorf("the fallback is not told: %q", lines)
		}
		settled(t, lab, "dut", false)
	})
}

// TestSoftLetsAnImagesProcessEnd: a container's own first process gets SIGTERM if it catches it, and
// nobody waits for one that does not.
func TestSoftLetsAnImagesProcessEnd(t *testing.T) {
	labtest.Root(t)
	labs.NeedOCIDriver(t, "runc")
	image := labs.OCIImage(t, v1.Config{})
	lab := up(t, fmt.Sprintf(`
name: tbsoftimage
topology:
  nodes:
    polite: {runtime: oci, image: %q, command: [/bin/sh, -c, "trap 'echo ended > /srv/said; exit 0' TERM; touch /srv/ready; while :; do sleep 0.1; done"]}
    deaf: {runtime: oci, image: %q, command: [/bin/sleep, "100000"]}
`, image, image))
	for _, name := range []string{"polite", "deaf"} {
		if name == "polite" {
			in(t, lab, name, "sh", "-c", "while [ ! -e /srv/ready ]; do sleep 0.05; done")
		}
		var lines []string
		if err := Power(context.Background(), lab.Name(), name, power.Soft, PowerOptions{By: "a test", Progress: func(line string) { lines = append(lines, line) }}); err != nil {
			t.Fatal(err)
		}
		if len(lines) > 0 {
			t.Errorf("%s: %q", name, lines)
		}
		settled(t, lab, name, false)
		if err := Power(context.Background(), lab.Name(), name, power.On, PowerOptions{By: "a test", Progress: func(string) {}}); err != nil {
			t.Fatal(err)
		}
	}
	now, err := Open(lab.Name())
	if err != nil {
		t.Fatal(err)
	}
	if said := in(t, now, "polite", "cat", "/srv/said"); said != "ended" {
		t.Errorf("the process could not end by itself: %q", said)
	}
}
