package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/analyze"
	"nines.dev/nines/test/labtest"
)

// TestPublishedPartsAreRecorded: what is recorded of the published captures is what they say.
func TestPublishedPartsAreRecorded(t *testing.T) {
	recorded, err := os.ReadFile("../recorded.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"hw", "vm"} {
		captures := filepath.Join(labtest.PublishedData(t), "low-latency", "dpdk-l2fwd-"+host)
		a, err := analyze.Analyze(context.Background(), analyze.Options{Pre: one(t, captures, "latencies-pre-*"), Post: one(t, captures, "latencies-post-*")})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		dir := t.TempDir()
		if _, err := a.WritePublished(context.Background(), dir, nil); err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		out := csv.NewWriter(&text)
		if err := recordParts(host, one(t, dir, "*.latency-ts*"), out); err != nil {
			t.Fatal(err)
		}
		out.Flush()
		if n := strings.Count(text.String(), "\n"); n != 6 || !strings.Contains(string(recorded), text.String()) {
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
