package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
)

// writeResult writes a small result with made-up latencies, of two repeats.
func writeResult(t *testing.T, kinds ...string) string {
	t.Helper()
	return writeRepeats(t, 2, kinds...)
}

func writeRepeats(t *testing.T, repeats int, kinds ...string) string {
	t.Helper()
	w, err := result.Create(t.TempDir(), "verbs", time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	for repeat := 1; repeat <= repeats; repeat++ {
		for i, kind := range kinds {
			r := result.Record{Trial: result.Trial{Variables: map[string]any{"links.in.kind": kind}, Repeat: repeat,
				OfferedPPS: 1000, TxPackets: 1000, RxPackets: 1000, Verdict: result.Clean},
				Histograms: result.Histograms{Latency: result.NewHistogram(), FromTx: result.NewHistogram(), SendLag: result.NewHistogram()}}
			for packet := range 1000 {
				latency := int64((i+1)*5000 + packet + repeat)
				r.Histograms.Latency.Record(latency)
				r.Histograms.FromTx.Record(latency)
				r.Histograms.SendLag.Record(0)
			}
			if _, err := w.AddTrial(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.Dir()
}

func TestReportVerb(t *testing.T) {
	dir := writeResult(t, "veth", "bridge")
	page := filepath.Join(t.TempDir(), "page.html")
	code, stdout, stderr := call("report", dir, "--out", page)
	if code != exit.Done || !strings.Contains(stdout, "bridge") || stderr != "" {
		t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
	}
	html, err := os.ReadFile(page)
	if err != nil || !bytes.Contains(html, []byte("nines/page/v1")) {
		t.Errorf("the page: %v", err)
	}
	code, stdout, _ = call("report", dir, "--format", "json")
	if code != exit.Done || !strings.Contains(stdout, `"nines/table/v1"`) {
		t.Errorf("code %d\n%s", code, stdout)
	}
	if code, stdout, _ = call("report", dir, "--repeats"); code != exit.Done || !strings.Contains(stdout, "repeat") {
		t.Errorf("code %d\n%s", code, stdout)
	}
}

func TestCompareVerb(t *testing.T) {
	dir, few := writeRepeats(t, 6, "veth", "bridge"), writeResult(t, "veth", "bridge")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{dir, "--by", "links.in.kind=bridge,veth"}, "B lower"},
		{[]string{few, "--by", "links.in.kind=bridge,veth"}, "A has 2 valid trials and B 2"},
		{[]string{few, dir}, "a drift of the host cannot be told from the difference"},
		{[]string{dir, dir, "--steady"}, "as --steady says"},
		{[]string{dir, dir, "--reference", dir, "--reference", few}, "on 1 day, and needs 3"},
	} {
		code, stdout, stderr := call(append([]string{"compare"}, test.args...)...)
		if code != exit.Done || !strings.Contains(strings.Join(strings.Fields(stdout), " "), test.want) {
			t.Errorf("%q: code %d\n%s\n%s", test.args, code, stdout, stderr)
		}
	}
	code, stdout, stderr := call("compare", dir, dir, "--format", "json")
	if code != exit.Done || !strings.Contains(stdout, `"nines/compare/v1"`) {
		t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestReportAndCompareRefuse(t *testing.T) {
	dir := writeResult(t, "veth")
	empty, err := result.Create(t.TempDir(), "empty", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	newer := t.TempDir()
	if err := os.WriteFile(filepath.Join(newer, result.SummaryFile), []byte(`{"schema":"nines/result/v7"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"report"}, exit.Wrong, "takes one result folder"},
		{[]string{"report", t.TempDir()}, exit.Wrong, "has no summary.json"},
		{[]string{"report", newer}, exit.Wrong, "another version"},
		{[]string{"report", empty.Dir()}, exit.Failed, "before its first trial"},
		{[]string{"report", dir, "--format", "xml"}, exit.Wrong, "--format"},
		{[]string{"report", dir, "--out", filepath.Join(t.TempDir(), "none", "x")}, exit.Failed, "cannot write "},
		{[]string{"compare", dir}, exit.Wrong, "two result folders"},
		{[]string{"compare", dir, dir, "--by", "kind=a,b"}, exit.Wrong, "takes one result folder"},
		{[]string{"compare", dir, "--by", "kind=a,b", "--steady"}, exit.Wrong, "for two results"},
		{[]string{"compare", dir, dir, "--reference", empty.Dir()}, exit.Failed, "before its first trial"},
		{[]string{"compare", dir, "--by", "kind=a"}, exit.Wrong, "VARIABLE=VALUE,VALUE"},
		{[]string{"compare", dir, "--by", "kind=veth,ovs"}, exit.Wrong, "the values are veth"},
	} {
		code, _, stderr := call(test.args...)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("nines %s: code %d, %q; want %d, %q", strings.Join(test.args, " "), code, stderr, test.code, test.want)
		}
	}
}
