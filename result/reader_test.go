package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/exit"
)

func TestOpenGivesBackWhatWasWritten(t *testing.T) {
	root := t.TempDir()
	w := writeAll(t, root)
	got := mustOpen(t, filepath.Join(root, "latest"))
	if len(got.Problems) > 0 {
		t.Errorf("problems: %v", got.Problems)
	}
	if diff := cmp.Diff(w.Summary(), got.Summary); diff != "" {
		t.Error(diff)
	}
	if len(got.Baselines) != 2 || got.Baselines[0].When != Before || got.Baselines[1].When != After {
		t.Errorf("baselines: %+v", got.Baselines)
	}
	want := record(2, 1500)
	folder := got.TrialFolder("0002")
	histograms, err := folder.Histograms()
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]*Histogram{"latency": {want.Histograms.Latency, histograms.Latency},
		"from_tx": {want.Histograms.FromTx, histograms.FromTx}, "send_lag": {want.Histograms.SendLag, histograms.SendLag}} {
		if diff := cmp.Diff(pair[0].Curve(), pair[1].Curve()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(pair[0].Percentiles(), pair[1].Percentiles()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	outliers, err := folder.Outliers()
	if diff := cmp.Diff(want.Outliers, outliers); diff != "" || err != nil {
		t.Error(diff, err)
	}
	rates, err := folder.Rates()
	if diff := cmp.Diff(want.Rates, rates); diff != "" || err != nil {
		t.Error(diff, err)
	}
	details, err := folder.Details()
	if diff := cmp.Diff(want.Details, details); diff != "" || err != nil {
		t.Error(diff, err)
	}
	log, err := folder.EngineLog()
	if string(log) != "engine: done\n" || err != nil {
		t.Errorf("log %q, %v", log, err)
	}
	experiment, err := got.Experiment()
	if experiment != "name: quick start\n" || err != nil {
		t.Errorf("experiment %q, %v", experiment, err)
	}
	baseline, err := got.BaselineFolder("0001").Details()
	if baseline.Baseline != "before" || err != nil {
		t.Errorf("baseline %+v, %v", baseline, err)
	}
	empty, err := got.TrialFolder("0003").Histograms()
	if err != nil || empty.Latency.Count() != 0 {
		t.Errorf("the trial without packets: %v", err)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	root := t.TempDir()
	whole := writeAll(t, root)
	raw, err := os.ReadFile(filepath.Join(whole.Dir(), SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	withSummary := func(content string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, SummaryFile), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for name, test := range map[string]struct {
		dir  string
		want string
	}{
		"nothing":         {filepath.Join(root, "nonsense"), "no such folder"},
		"a file":          {filepath.Join(whole.Dir(), SummaryFile), "is a file"},
		"another folder":  {t.TempDir(), "has no summary.json"},
		"the results":     {root, "its newest result is " + filepath.Join(root, "latest")},
		"the name's":      {filepath.Dir(whole.Dir()), "its newest result is " + whole.Dir()},
		"a newer schema":  {withSummary(`{"schema":"nines/result/v9","trials":{}}`), "written by another version"},
		"another product": {withSummary(`{"schema":"other/v1"}`), `this nines reads "nines/result/v1"`},
		"no schema":       {withSummary(`{"trials":[]}`), `has no "schema"`},
		"cut off":         {withSummary(string(raw[:len(raw)/2])), "summary.json:"},
		"a wrong type":    {withSummary("{\"schema\":\"nines/result/v1\",\n\"trials\":[{\"repeat\":\"x\"}]}"), "summary.json:2 is damaged"},
		"empty file":      {withSummary(""), "summary.json:1 is damaged"},
	} {
		_, err := Open(test.dir)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
			continue
		}
		if exit.Code(err) != exit.Wrong {
			t.Errorf("%s: %v has no exit code 2", name, err)
		}
	}
}

func TestOpenNamesMissingAndDamagedFiles(t *testing.T) {
	w := writeAll(t, t.TempDir())
	trial := filepath.Join(w.Dir(), "trials", "0001")
	if err := os.Remove(filepath.Join(trial, HlogFile)); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{OutliersFile: "id,stream\n1,2\n", RateFile: "second,offered_packets,sent_packets,received_packets\n0,1,x,2\n", DetailsFile: "{"} {
		if err := os.WriteFile(filepath.Join(trial, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := mustOpen(t, w.Dir())
	if diff := cmp.Diff([]string{"trials/0001/latency.hlog is missing"}, got.Problems); diff != "" {
		t.Error(diff)
	}
	folder := got.TrialFolder("0001")
	_, err1 := folder.Histograms()
	_, err2 := folder.Outliers()
	_, err3 := folder.Rates()
	_, err4 := folder.Details()
	for i, want := range []string{"trials/0001/latency.hlog cannot be read", `missing columns: "latency_ns"`, `cannot unmarshal "x"`, "details.json is damaged"} {
		if err := []error{err1, err2, err3, err4}[i]; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestAnIDCannotLeadOutOfTheFolder(t *testing.T) {
	dir := t.TempDir()
	summary := `{"schema":"nines/result/v1","name":"x","started":"2026-11-20T18:30:05Z","trials":[{"id":"../../secret","repeat":1}]}`
	if err := os.WriteFile(filepath.Join(dir, SummaryFile), []byte(summary), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Open(dir)
	if err != nil || len(got.Problems) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	if _, err := got.TrialFolder("../../secret").Details(); err == nil || !strings.Contains(err.Error(), "is not a trial") {
		t.Errorf("Details: %v", err)
	}
}

// TestReadersRefuseWhatIsNoPlainFile: a pipe in a foreign folder blocks nobody, and no link leads
// out of the folder.
func TestReadersRefuseWhatIsNoPlainFile(t *testing.T) {
	for what, make := range map[string]func(path string) error{
		"a pipe": func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"a link": func(path string) error { return os.Symlink("/dev/zero", path) },
		"a giant": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 100<<30))
		},
	} {
		w := writeAll(t, t.TempDir())
		for _, name := range []string{"trials/0001/" + HlogFile, "trials/0001/" + OutliersFile, HostFile} {
			path := filepath.Join(w.Dir(), name)
			if err := errors.Join(os.RemoveAll(path), make(path)); err != nil {
				t.Fatal(err)
			}
		}
		r := mustOpen(t, w.Dir())
		folder := r.TrialFolder("0001")
		_, hlog := folder.Histograms()
		_, outliers := folder.Outliers()
		_, host := r.Host()
		for _, err := range []error{hlog, outliers, host} {
			if err == nil || !strings.Contains(err.Error(), "regular file") && !strings.Contains(err.Error(), "too many") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := errors.Join(os.Remove(filepath.Join(w.Dir(), SummaryFile)), make(filepath.Join(w.Dir(), SummaryFile))); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(w.Dir()); err == nil {
			t.Errorf("%s: the summary was read", what)
		}
	}
}

// TestAResultWithoutEndIsRefused: no table can show thousands of keys, and a foreign file may name a
// new one in each trial.
func TestAResultWithoutEndIsRefused(t *testing.T) {
	dir := writeAll(t, t.TempDir()).Dir()
	r := mustOpen(t, dir)
	for keys := MaxVariables; keys <= MaxVariables+1; keys++ {
		s := r.Summary
		s.Trials = nil
		for i := range keys {
			s.Trials = append(s.Trials, Trial{ID: fmt.Sprintf("%04d", i+1), Variables: map[string]any{fmt.Sprintf("key%d", i): i}})
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, SummaryFile), text, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err = Open(dir)
		if refused := new(OpenError); keys > MaxVariables && (!errors.As(err, &refused) || !strings.Contains(err.Error(), "257 swept keys, and a result has at most 256")) || keys <= MaxVariables && err != nil {
			t.Errorf("%d keys: %v", keys, err)
		}
	}
}
