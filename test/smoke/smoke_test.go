// Package smoke runs what every change could break, however little of the tests it selects: the README's first
// experiment in a short form, and a lab of each runtime and of each link kind that this host can make.
package smoke

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// lab is one link between two nodes, and some packets over it.
type lab struct {
	name, kind, node string // the first node, as the file describes it
	backend          string
}

func (l lab) file() string {
	return fmt.Sprintf(`name: smoke-%s
topology:
  nodes: {a: %s, b: {}}
  links: [{name: wire, kind: %s, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "b:eth", rate_pps: 1000, backend: %s, warmup: 100ms, duration: 200ms, drain: 3s}
dpdk: {hugepages: none}
`, l.name, l.node, l.kind, l.backend)
}

// run runs an experiment by the built nines, and gives its result.
func run(t *testing.T, file string, arguments ...string) result.Summary {
	t.Helper()
	var summary result.Summary
	labtest.Measure(t, &summary, exit.Done, file, arguments...)
	return summary
}

// carries checks that all packets came in each trial, and by the planned path. Times and verdicts are those of a busy host.
func carries(t *testing.T, s result.Summary, trials int) {
	t.Helper()
	if len(s.Trials) != trials {
		t.Errorf("%d trials, not %d", len(s.Trials), trials)
	}
	for _, trial := range s.Trials {
		if trial.TxPackets == 0 || trial.RxPackets == 0 || trial.RxPackets+trial.LostPackets != trial.TxPackets {
			t.Errorf("trial %s: %d sent, %d received, %d lost", trial.ID, trial.TxPackets, trial.RxPackets, trial.LostPackets)
		}
		path := trial.SeenPath
		if path == nil || !path.Declared || path.Unseen != "" || len(path.Ways) != 1 {
			t.Errorf("trial %s: the path is %+v", trial.ID, path)
		}
		for _, reason := range trial.Reasons {
			if strings.Contains(reason, "did not come as planned") {
				t.Errorf("trial %s: %s", trial.ID, reason)
			}
		}
	}
}

func (l lab) carries(t *testing.T) {
	t.Helper()
	labtest.Experiment(t)
	file := filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(file, []byte(l.file()), 0o644); err != nil {
		t.Fatal(err)
	}
	carries(t, run(t, file), 1)
}

func TestTheQuickstart(t *testing.T) {
	labtest.Experiment(t)
	carries(t, run(t, "../../examples/quickstart.yaml", "--set", "repeat=1", "--set", "traffic.duration=300ms", "--set", "traffic.warmup=100ms",
		"--set", "traffic.drain=3s", // a host that takes the device's CPU for a second loses no packet
		"--set", "traffic.rate_pps=1000"), 3)
}

// TestEachLinkKind leaves out what joins pods or real cards: the tests of the cluster and of the virtual laboratory have these.
func TestEachLinkKind(t *testing.T) {
	ran := 0
	for _, kind := range spec.LinkKinds() {
		d := kind.Descriptor()
		if d.Remote || d.End == spec.EndFunction || d.End == spec.EndDevice {
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			if d.Program != nil && d.Program.Unpackaged {
				labtest.Built(t, d.Between)
			}
			l := lab{name: string(kind), kind: string(kind), node: "{}", backend: "raw"}
			if d.End == spec.EndNone {
				l.backend = "dpdk"
			}
			l.carries(t)
			ran++
		})
	}
	if ran == 0 {
		labtest.Require(t, "a link kind that this host can make", false)
	}
}

// TestEachRuntime leaves out what boots or needs a cluster: these run where they are affected.
func TestEachRuntime(t *testing.T) {
	for _, runtime := range spec.Runtimes() {
		d := runtime.Descriptor()
		if d.Remote || d.Guest {
			continue
		}
		t.Run(string(runtime), func(t *testing.T) {
			labtest.Experiment(t)
			node := "{runtime: " + string(runtime) + "}"
			if d.NeedsImage {
				t.Setenv("NINES_CACHE_DIR", t.TempDir())
				node = fmt.Sprintf("{runtime: %s, image: \"rootfs:%s\", init: nines}", runtime, emptyRoot(t))
			}
			lab{name: string(runtime), kind: "veth", node: node, backend: "raw"}.carries(t)
		})
	}
}

// emptyRoot is the archive of a root file system with nothing but folders: what nines needs in a container it brings.
func emptyRoot(t *testing.T) string {
	t.Helper()
	var text bytes.Buffer
	archive := tar.NewWriter(&text)
	for _, folder := range []string{"bin", "etc", "tmp"} {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder, Mode: 0o755}); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "root.tar")
	if err := os.WriteFile(name, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}
