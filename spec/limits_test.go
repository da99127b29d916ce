package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Files that are large or deep deliberately are refused with one plain reason.
func TestLimits(t *testing.T) {
	manyNodes := func(n int) string {
		var b strings.Builder
		b.WriteString("name: lab\ntopology:\n  nodes:\n")
		for i := range n {
			fmt.Fprintf(&b, "    n%d:\n", i)
		}
		return b.String()
	}
	sizes := manyNodes(2) + "    big: {env: {" + strings.Repeat("E%d: 1, ", 75_000) + "}}\n" +
		"  links: [{endpoints: [\"n0:e\", \"n1:e\"]}]\ntraffic: {from: \"n0:e\", to: \"n1:e\"}\nmethod: {kind: rfc2544}\n"
	variables := make([]any, 75_000)
	for i := range variables {
		variables[i] = i
	}
	bridge := "name: lab\ntopology:\n  nodes: {a: }\n  links:\n    - kind: bridge\n      endpoints: [" + strings.Repeat("%s", maxLinkEndpoints+1) + "]\n"
	ends := make([]any, maxLinkEndpoints+1)
	for i := range ends {
		ends[i] = fmt.Sprintf("\"a:e%d\", ", i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"bytes":     {"name: " + strings.Repeat("x", maxFileBytes), "big.yaml:1:1: the file has 4194310 bytes; allowed: at most 4194304"},
		"brackets":  {strings.Repeat("[", 1<<20), "big.yaml:1:10001: not valid YAML: exceeded max depth of 10000"},
		"nodes":     {manyNodes(maxNodes + 1), "big.yaml:4:5: topology.nodes: holds 8193, too many; allowed: at most 8192"},
		"values":    {manyNodes(maxTreeNodes/2 + 1), "big.yaml:100000:5: the file holds more than 200000 values, aliases written out; write a smaller experiment"},
		"sizes":     {fmt.Sprintf(sizes, variables...), "big.yaml:9:9: method: makes 7 runs (7 × traffic.frame_bytes); give one size as traffic.frame_bytes, or write a smaller experiment; allowed: at most 6 runs with a file of this size"},
		"endpoints": {fmt.Sprintf(bridge, ends...), "big.yaml:6:18: topology.links.0.endpoints: 1024 endpoints on one link; allowed: at most 1023, the ports of a Linux bridge"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Load("big.yaml", []byte(c.text))
			if err == nil {
				_, err = f.Runs()
			}
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

// A sweep over all links costs a few look-ups per link: comparing all with all would take many
// minutes here.
func TestSweepsOverAllLinksCostLittle(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: lab\ntopology:\n  nodes: {a: , b: }\n  links:\n")
	for i := range maxLinks {
		fmt.Fprintf(&b, "    - endpoints: [\"a:e%d\", \"b:e%d\"]\n", i, i)
	}
	b.WriteString("traffic: {from: \"a:e0\", to: \"b:e0\", rate_pps: 1}\nsweep:\n  traffic.burst: [1, 2, 3, 4, 5, 6]\n")
	var want []string
	for i, key := range []string{"kind", "mtu", "parent", "name", "rx", "switch", "sriov", "passthrough"} {
		fmt.Fprintf(&b, "  links.*.%s: [[]]\n", key)
		want = append(want, fmt.Sprintf("%d:%d: sweep.links.*.%s.0", maxLinks+8+i, len("  links.*.: [[")+len(key), key))
	}
	if got := placesOf(t, runsInMinutes(t, b.String())); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// The checker finds the DPDK endpoints once, not again for each of them.
func TestManyEndpointsOfDPDKCostLittle(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: lab\ntopology:\n  nodes:\n")
	for i := range maxNodes {
		fmt.Fprintf(&b, "    n%d: {rx: awake, app: {kind: reflect, backend: dpdk}}\n", i)
	}
	b.WriteString("  links:\n")
	for i := range maxLinks {
		fmt.Fprintf(&b, "    - endpoints: [\"n%d:r%d\", \"n%d:l%d\"]\n", i%maxNodes, i, (i+1)%maxNodes, i)
	}
	if err := runsInMinutes(t, b.String()); err != nil {
		t.Error(err)
	}
}

// runsInMinutes returns the error of Runs for a text, and fails if that takes minutes: it takes
// seconds, even on a slow machine.
func runsInMinutes(t *testing.T, text string) error {
	t.Helper()
	f := mustLoad(t, text)
	done := make(chan error, 1)
	go func() {
		_, err := f.Runs()
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(2 * time.Minute):
		t.Fatal("the file is not checked after two minutes")
		return nil
	}
}

// LoadFile reads no more of a file than is allowed, and passes on the system's reason.
func TestLoadFile(t *testing.T) {
	folder := t.TempDir()
	big := filepath.Join(folder, "big.yaml")
	if err := os.WriteFile(big, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 1<<40); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		big:                                  big + ":1:1: the file has 4194305 bytes; allowed: at most 4194304",
		folder:                               folder + ": cannot be read: is a directory; give the path of an experiment file",
		filepath.Join(folder, "absent.yaml"): filepath.Join(folder, "absent.yaml") + ": cannot be read: no such file or directory; give the path of an experiment file",
	} {
		if _, err := LoadFile(path); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}
