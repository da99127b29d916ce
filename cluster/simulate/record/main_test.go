package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// TestPublishedPartsAreRecorded: what is recorded of the published captures is what they say.
func TestPublishedPartsAreRecorded(t *testing.T) {
	recorded, err := os.ReadFile("../recorded.csv")
	if err != nil {
		t.Fatal(err)
	}
	nines := filepath.Join(labtest.Repository(), "bin", "nines")
	_, err = os.Stat(nines)
	labtest.Require(t, "bin/nines (make build)", err == nil)
	for _, host := range []string{"hw", "vm"} {
		captures := filepath.Join(labtest.PublishedData(t), "low-latency", "dpdk-l2fwd-"+host)
		dir := t.TempDir()
		analyze := exec.Command(nines, "analyze", one(t, captures, "latencies-pre-*"), one(t, captures, "latencies-post-*"), "--out", dir)
		if said, err := analyze.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		var text bytes.Buffer
		out := csv.NewWriter(&text)
		if err := recordParts(host, one(t, dir, "*.latency-ts*"), out); err != nil {
			t.Fatal(err)
		}
		out.Flush()
		if n := strings.Count(text.String(), "\n"); n != 12 || !strings.Contains(string(recorded), text.String()) {
			t.Errorf("%d parts, which recorded.csv does not have:\n%s", n, text.String())
		}
	}
}

func one(t *testing.T, folder, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s in %s: %q, %v", pattern, folder, found, err)
	}
	return found[0]
}
