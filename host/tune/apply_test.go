package tune

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/test/labtest"
)

func newApplier(t *testing.T) (Applier, string) {
	t.Helper()
	dir := t.TempDir()
	j, err := journal.Create(filepath.Join(dir, "journal"), journal.Header{Token: "tune-test-" + t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return Applier{Journal: j, Init: filepath.Join(libexec(), "nines-init")}, dir
}

func libexec() string {
	if dir := os.Getenv("NINES_LIBEXEC"); dir != "" {
		return dir
	}
	dir, _ := filepath.Abs(filepath.Join("..", "..", "bin")) // fails only without a working directory
	return dir
}

// needInit needs the program that holds files. It builds no lab, so it takes no turn at the
// lock.
func needInit(t *testing.T, a Applier) {
	t.Helper()
	labtest.Require(t, "root", os.Geteuid() == 0)
	_, err := os.Stat(a.Init)
	labtest.Require(t, "nines-init (make build)", err == nil)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func undo(t *testing.T, j *journal.Journal) {
	t.Helper()
	if err := j.Undo(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
}

func TestApplySaysWhatBecameOfEachSetting(t *testing.T) {
	a, dir := newApplier(t)
	file := func(name string) string { return filepath.Join(dir, name) }
	write(t, file("changes"), "60\n")
	write(t, file("holds"), "10\n")
	setting := func(name, value, absent string) Setting {
		return Setting{Advice: Advice{Name: name}, Method: Write, Path: file(name), Value: value, Absent: absent}
	}
	results, err := a.Apply(context.Background(), []Setting{
		setting("changes", "10", ""), setting("holds", "10", ""), setting("missing", "1", ""), setting("foreign", "1", "no such card"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Outcome{Changed, Already, Absent, Absent}
	for i, r := range results {
		if r.Outcome != want[i] {
			t.Errorf("%s: %s, want %s (%s)", r.Name, r.Outcome, want[i], r.Reason)
		}
	}
	if results[0].Old != "60" || results[0].Now != "10" || results[3].Reason != "no such card" {
		t.Errorf("results: %+v", results)
	}
	undo(t, a.Journal)
	if read(t, file("changes")) != "60\n" || read(t, file("holds")) != "10\n" {
		t.Error("undo did not put the settings back")
	}
}

// The kernel refuses a value: a sysctl that takes no words.
func TestApplyReportsWhatTheKernelRefuses(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	a, _ := newApplier(t)
	before := read(t, "/proc/sys/vm/stat_interval")
	results, err := a.Apply(context.Background(), []Setting{{
		Advice: Advice{Name: "vm.stat_interval"}, Method: Write, Path: "/proc/sys/vm/stat_interval", Value: "often",
	}})
	if err != nil || results[0].Outcome != Refused || results[0].Reason == "" {
		t.Fatalf("%+v, %v", results, err)
	}
	undo(t, a.Journal)
	if read(t, "/proc/sys/vm/stat_interval") != before {
		t.Error("the setting changed")
	}
}

func heldSetting(path string) Setting {
	return Setting{Advice: Advice{Name: "held"}, Method: Hold, Path: path, Value: "2"}
}

func TestAHeldFileIsHeldUntilUndo(t *testing.T) {
	a, dir := newApplier(t)
	needInit(t, a)
	path := filepath.Join(dir, "latency")
	write(t, path, "")
	results, err := a.Apply(context.Background(), []Setting{heldSetting(path)})
	if err != nil || results[0].Outcome != Changed {
		t.Fatalf("%+v, %v", results, err)
	}
	if got := read(t, path); got != "\x02\x00\x00\x00" {
		t.Errorf("written: %q", got)
	}
	entry := a.Journal.Entries()[0]
	holder := proc.Identity{PID: entry.Learnt.PID, StartTicks: entry.Learnt.StartTicks}
	if !holds(holder, path) {
		t.Error("the holder does not hold the file")
	}
	undo(t, a.Journal)
	if holder.Alive() {
		t.Error("the holder lives after undo")
	}
}

// As if nines had been killed after starting the holder and before the journal noted it.
func TestAHolderThatTheJournalNeverLearntIsFound(t *testing.T) {
	a, dir := newApplier(t)
	needInit(t, a)
	path := filepath.Join(dir, "latency")
	write(t, path, "")
	token := a.Journal.Token("hold/held")
	if _, err := a.Journal.Begin(journal.Step{Kind: process.Kind, Name: "held", Path: path, Token: token}); err != nil {
		t.Fatal(err)
	}
	holder, err := startHolder(context.Background(), a.Init, token, heldSetting(path))
	if err != nil {
		t.Fatal(err)
	}
	undo(t, a.Journal)
	if holder.Alive() {
		t.Error("the holder lives after undo")
	}
}

func TestAFileThatCannotBeHeldIsRefused(t *testing.T) {
	a, dir := newApplier(t)
	needInit(t, a)
	results, err := a.Apply(context.Background(), []Setting{heldSetting(dir)}) // a folder
	if err != nil || results[0].Outcome != Refused || results[0].Reason == "" {
		t.Fatalf("%+v, %v", results, err)
	}
	undo(t, a.Journal)
}

func holds(id proc.Identity, path string) bool {
	dir := filepath.Join("/proc", strconv.Itoa(id.PID), "fd")
	fds, _ := os.ReadDir(dir)
	for _, fd := range fds {
		if target, _ := os.Readlink(filepath.Join(dir, fd.Name())); target == path {
			return true
		}
	}
	return false
}

// A setting that the kernel refused does not count as changed.
func TestARefusedSettingIsNotInTheJournal(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	a, _ := newApplier(t)
	if _, err := a.Apply(context.Background(), []Setting{{Method: Write, Path: "/proc/sys/vm/stat_interval", Value: "often"}}); err != nil {
		t.Fatal(err)
	}
	if entries := a.Journal.Entries(); len(entries) != 0 || len(Standings(a.Journal, "")) != 0 {
		t.Errorf("the journal has %+v", entries)
	}
}
