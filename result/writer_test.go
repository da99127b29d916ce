package result

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/test/golden"
	"nines.dev/nines/test/labtest"
)

func mustCreate(t *testing.T, dir string) *Writer {
	t.Helper()
	w, err := Create(dir, "quick start", testStart)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func mustAdd(t *testing.T, w *Writer, r Record) Trial {
	t.Helper()
	trial, err := w.AddTrial(r)
	if err != nil {
		t.Fatal(err)
	}
	return trial
}

func mustOpen(t *testing.T, dir string) *Result {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// writeAll fills a folder like a run.
func writeAll(t *testing.T, root string) *Writer {
	t.Helper()
	w := mustCreate(t, root)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(w.WriteExperiment([]byte("name: quick start\n"), "/lab/quickstart.yaml"))
	must(w.WriteHost(map[string]any{"cpus": 2}))
	must(w.WritePlan(map[string]any{"name": "quick start"}))
	_, err := w.AddBaseline(Before, record(7, 200))
	must(err)
	first := record(1, 100)
	first.Trial.Verdict, first.Trial.Reasons = Clean, nil
	_, err = w.AddTrial(first)
	must(err)
	second := record(2, 1500)
	second.Trial.Variables["links.*.kind"] = "bridge"
	second.Trial.Reasons = append(second.Trial.Reasons, "run delay, \"long\"")
	_, err = w.AddTrial(second)
	must(err)
	third := record(3, 0)
	third.Trial.Verdict, third.Trial.Reasons = Invalid, []string{"nothing was received"}
	_, err = w.AddTrial(third)
	must(err)
	_, err = w.AddBaseline(After, record(8, 200))
	must(err)
	must(w.Close())
	return w
}

func TestSummaryIsAsDesigned(t *testing.T) {
	w := writeAll(t, t.TempDir())
	for _, name := range []string{SummaryFile, SummaryCSVFile, BaselinesFile} {
		raw, err := os.ReadFile(filepath.Join(w.Dir(), name))
		if err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, filepath.Join("testdata", name), raw)
	}
	for _, name := range []string{OutliersFile, RateFile, DetailsFile} {
		raw, err := os.ReadFile(filepath.Join(w.Dir(), "trials", "0001", name))
		if err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, filepath.Join("testdata", name), raw)
	}
}

func TestFolderHasTheDesignedLayout(t *testing.T) {
	root := t.TempDir()
	w := writeAll(t, root)
	var got []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if !entry.IsDir() {
			relative, _ := filepath.Rel(root, path)
			got = append(got, relative)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"latest"}
	base := "quick-start/2026-11-20T18-30-05Z/"
	for _, id := range []string{"baselines/0001", "baselines/0002", "trials/0001", "trials/0002", "trials/0003"} {
		for _, name := range []string{"details.json", "engine.log", "latency.hlog", "outliers.csv", "rate.csv"} {
			want = append(want, base+id+"/"+name)
		}
	}
	for _, name := range []string{"baselines.json", "experiment.yaml", "host.json", "origin.json", "plan.json", "summary.csv", "summary.json"} {
		want = append(want, base+name)
	}
	less := func(a, b string) bool { return a < b }
	if diff := cmp.Diff(sorted(want, less), sorted(got, less)); diff != "" {
		t.Error(diff)
	}
	if path, err := ReadOrigin(w.Dir()); err != nil || path != "/lab/quickstart.yaml" {
		t.Errorf("the file was %q, %v", path, err)
	}
	target, err := os.Readlink(filepath.Join(root, "latest"))
	if err != nil || target != "quick-start/2026-11-20T18-30-05Z" {
		t.Errorf("latest points at %q, %v; want a relative path, so that results/ can be moved", target, err)
	}
	if w.Dir() != filepath.Join(root, target) {
		t.Errorf("the folder is %s", w.Dir())
	}
}

func sorted(values []string, less func(a, b string) bool) []string {
	for i := range values {
		for j := i; j > 0 && less(values[j], values[j-1]); j-- {
			values[j], values[j-1] = values[j-1], values[j]
		}
	}
	return values
}

func TestRunsOfTheSameSecondGetTheirOwnFolders(t *testing.T) {
	root := t.TempDir()
	seen := map[string]bool{}
	for range 3 {
		w := mustCreate(t, root)
		if seen[w.Dir()] {
			t.Fatalf("%s was given twice", w.Dir())
		}
		seen[w.Dir()] = true
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// It has nothing to show, so latest does not move.
	if _, err := os.Lstat(filepath.Join(root, "latest")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("latest: %v", err)
	}
}

// A run that is killed later can be resumed by results/latest.
func TestLatestIsTheResultFromItsFirstTrialOn(t *testing.T) {
	root := t.TempDir()
	w := mustCreate(t, root)
	mustAdd(t, w, record(1, 100))
	if target, err := filepath.EvalSymlinks(filepath.Join(root, "latest")); err != nil || target != w.Dir() {
		t.Errorf("latest leads to %q, %v", target, err)
	}
}

func TestLatestIsNotReplacedWhereItIsNoLink(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "latest"), 0o755); err != nil {
		t.Fatal(err)
	}
	w := mustCreate(t, root)
	mustAdd(t, w, record(1, 100))
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "not a symbolic link") {
		t.Errorf("Close: %v", err)
	}
}

func TestSummaryCSVEscapesAndNamesUnits(t *testing.T) {
	trial := record(1, 100)
	trial.complete("0001")
	trial.Trial.Variables = map[string]any{"repeat": 3, "evil,\"key\"": "a\nb", "list": []int{1, 2}, "kind": testKind("veth")}
	var out strings.Builder
	if err := WriteSummaryCSV(&out, []Trial{trial.Trial, {ID: "0002"}}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"id", "evil,\"key\"", "kind", "list", "variable_repeat", "repeat", "offered_pps"}, rows[0][:7]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"0001", "a\nb", "veth", "[1,2]", "3", "1", "1000"}, rows[1][:7]); diff != "" {
		t.Error(diff)
	}
	if len(rows) != 3 || len(rows[2]) != len(rows[0]) {
		t.Errorf("rows: %v", rows)
	}
}

type testKind string

// TestKilledWriter kills a process that writes trials and reads what it left: everything that it
// reported as done must exist, complete.
func TestKilledWriter(t *testing.T) {
	labtest.Guarantee(t)
	if dir := os.Getenv("NINES_TEST_WRITE_FOREVER"); dir != "" {
		w, err := Create(dir, "killed", testStart)
		if err != nil {
			t.Fatal(err)
		}
		for seed := int64(1); ; seed++ {
			trial := mustAdd(t, w, record(seed, 300))
			fmt.Println("done", trial.ID, w.Dir())
		}
	}
	for attempt := range 12 {
		child := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
		child.Env = append(os.Environ(), "NINES_TEST_WRITE_FOREVER="+t.TempDir())
		stdout, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(stdout)
		var id, dir string
		said := 0
		for said <= attempt && lines.Scan() {
			if _, err := fmt.Sscanf(lines.Text(), "done %s %s", &id, &dir); err == nil {
				said++
			}
		}
		// Not a deadline but various moments to kill at.
		time.Sleep(time.Duration(attempt) * 700 * time.Microsecond)
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // was killed
		got := mustOpen(t, dir)
		if len(got.Summary.Trials) < said || len(got.Problems) > 0 {
			t.Errorf("%d trials were done, %d are there; problems: %v", said, len(got.Summary.Trials), got.Problems)
		}
		for _, trial := range got.Summary.Trials {
			if _, err := got.TrialFolder(trial.ID).Histograms(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestFullDisk writes to file systems of growing size until each is full: the disk fills in each of
// the files in turn, and finished trials stay readable.
func TestFullDisk(t *testing.T) {
	const page = 4096
	filled := 0
	for size := 10 * page; size <= 60*page; size += page {
		disk := smallDisk(t, size)
		w, err := Create(disk, "full", testStart)
		if err != nil {
			t.Fatalf("size %d: %v", size, err)
		}
		kept := 0
		for seed := int64(1); seed < 100; seed++ {
			if _, err = w.AddTrial(record(seed, 300)); err != nil {
				break
			}
			kept++
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("size %d: the disk did not fill: %v", size, err)
		}
		filled++
		if !strings.Contains(err.Error(), "free some space") || kept > 1 && !strings.Contains(err.Error(), fmt.Sprintf("%d finished trials are kept", kept)) {
			t.Errorf("size %d, %d kept: the error does not say what is kept: %v", size, kept, err)
		}
		got, err := Open(w.Dir())
		if err != nil {
			t.Fatalf("size %d: %v", size, err)
		}
		summary, err := os.ReadFile(filepath.Join(w.Dir(), SummaryCSVFile))
		if err != nil || strings.Count(string(summary), "\n") != kept+1 {
			t.Errorf("size %d: summary.csv does not have the %d trials kept: %v\n%s", size, kept, err, summary)
		}
		if stale, _ := filepath.Glob(filepath.Join(w.Dir(), "trials", "*")); len(stale) != kept {
			t.Errorf("size %d: %d trials kept, folders %v", size, kept, stale)
		}
		if len(got.Summary.Trials) != kept || len(got.Problems) > 0 {
			t.Errorf("size %d: %d trials kept, %d readable, problems: %v", size, kept, len(got.Summary.Trials), got.Problems)
		}
	}
	t.Logf("%d disks were filled", filled)
}

// smallDisk is a file system of a size in bytes.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		labtest.Require(t, fmt.Sprintf("a privilege to mount a tmpfs: %v", err), false)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// TestPacketsThatDoNotFitAreDropped: the trial is kept without them, and says so.
func TestPacketsThatDoNotFitAreDropped(t *testing.T) {
	w, err := Create(smallDisk(t, 256<<10), "full", testStart)
	if err != nil {
		t.Fatal(err)
	}
	r := record(1, 300)
	recording := Recording{Packets: 1 << 20, Complete: true}
	r.Details.Recording = &recording
	r.Packets = &Packets{Complete: true, Batches: func(write func([]Packet) error) error {
		rows, seed := make([]Packet, 1<<10), rand.New(rand.NewPCG(1, 2))
		for range 1 << 10 {
			for i := range rows {
				rows[i].TxNs = seed.Int64()
			}
			if err := write(rows); err != nil {
				return err
			}
		}
		return nil
	}}
	trial, err := w.AddTrial(r)
	if err != nil {
		t.Fatal(err)
	}
	folder := mustOpen(t, w.Dir()).TrialFolder(trial.ID)
	if _, err := folder.Packets(nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the packets: %v", err)
	}
	if why := folder.WhyNoPackets(); why != "the disk has no room for packets.parquet" {
		t.Errorf("why: %q", why)
	}
	details, err := folder.Details()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"the disk has no room for packets.parquet"}
	if kept := details.Recording; kept.Complete || kept.Packets != 0 || !slices.Equal(kept.Problems, want) || !slices.Contains(details.Notes, want[0]) {
		t.Errorf("%+v, notes %q", kept, details.Notes)
	}
	if !recording.Complete {
		t.Error("the caller's record has changed")
	}
}

func TestDiscardLeavesOtherResults(t *testing.T) {
	root := t.TempDir()
	kept, err := Create(root, "lab", time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	dropped, err := Create(root, "lab", time.Unix(2, 0))
	if err != nil {
		t.Fatal(err)
	}
	if !dropped.Empty() {
		t.Error("a new result is not empty")
	}
	if err := dropped.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept.Dir()); err != nil {
		t.Errorf("the other result is gone: %v", err)
	}
	if err := kept.Discard(); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(root); len(entries) != 0 {
		t.Errorf("left: %v", entries)
	}
}
