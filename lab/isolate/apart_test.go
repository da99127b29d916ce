package isolate

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/journal/folder"
	"nines.dev/nines/kernel/boot"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/test/labtest"
)

// apartHost is a host of four CPUs as files, and a process that stands for all others on it.
type apartHost struct {
	t     *testing.T
	apart Apart
	pid   int
}

func newApartHost(t *testing.T) apartHost {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	pid, state := cmd.Process.Pid, t.TempDir()
	return apartHost{t: t, pid: pid, apart: Apart{
		Root: state, Ledger: filepath.Join(t.TempDir(), "settings.json"), // whose lock a killed process leaves
		Include: func(of tasks.Thread) bool { return of.Process == pid },
		Host: machine(t, map[string]string{
			"sys/devices/virtual/workqueue/cpumask": "f",
			"proc/irq/default_smp_affinity":         "f",
			"proc/irq/9/smp_affinity_list":          "0-3",
			"proc/irq/34/smp_affinity_list":         "1",
		}),
	}}
}

// files are the settings as they are: workqueues, new interrupts, interrupt 9, interrupt 34.
func (h apartHost) files() string {
	h.t.Helper()
	var words []string
	for _, name := range []string{"sys/devices/virtual/workqueue/cpumask", "proc/irq/default_smp_affinity", "proc/irq/9/smp_affinity_list", "proc/irq/34/smp_affinity_list"} {
		text, err := os.ReadFile(filepath.Join(h.apart.Host, name))
		if err != nil {
			h.t.Fatal(err)
		}
		words = append(words, strings.TrimSpace(string(text)))
	}
	return strings.Join(words, " ")
}

// mask is the CPUs that the process may use.
func (h apartHost) mask() tasks.Set {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(h.pid), "status"))
	if err != nil {
		h.t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "Cpus_allowed_list:\t")
	list, _, _ = strings.Cut(list, "\n")
	cpus, err := tasks.ParseSet(list)
	if err != nil {
		h.t.Fatal(err)
	}
	return cpus
}

func (h apartHost) keep(kept Kept, want string) {
	h.t.Helper()
	s, err := h.apart.Keep(h.t.Context(), kept, tasks.Set{0}, func(note string) { h.t.Errorf("noted: %s", note) })
	if err != nil {
		h.t.Fatal(err)
	}
	if got := h.files(); got != want {
		h.t.Errorf("with %+v the settings are %q, not %q; %+v", kept, got, want, s)
	}
	if now, err := h.apart.Look(); err != nil || !now.Tasks.Equal(kept.Tasks) || !now.Quiet.Equal(kept.Quiet) {
		h.t.Errorf("kept are %+v, and it says %+v, %v", kept, now, err)
	}
}

const asBefore = "f f 0-3 1"

func (h apartHost) nothingLeft() {
	h.t.Helper()
	if left, err := os.ReadDir(h.apart.Root); err != nil || len(left) > 0 {
		h.t.Errorf("left: %v, %v", left, err)
	}
}

// TestCPUsAreKeptApartOneAfterAnother: in either order, the CPUs of the one that ends get back what they had,
// and the other's stay apart.
func TestCPUsAreKeptApartOneAfterAnother(t *testing.T) {
	h := newApartHost(t)
	h.keep(Kept{}, asBefore)
	h.keep(Kept{Tasks: tasks.Set{1}, Quiet: tasks.Set{1}}, "d d 0,2-3 0")
	h.keep(Kept{Tasks: tasks.Set{1, 3}, Quiet: tasks.Set{1, 3}}, "5 5 0,2 0")
	h.keep(Kept{Tasks: tasks.Set{1, 3}, Quiet: tasks.Set{1, 3}}, "5 5 0,2 0")
	h.keep(Kept{Tasks: tasks.Set{3}, Quiet: tasks.Set{3}}, "7 7 0-2 1")
	h.keep(Kept{Tasks: tasks.Set{3}}, asBefore)
	h.keep(Kept{Tasks: tasks.Set{2, 3}, Quiet: tasks.Set{2}}, "b b 0-1,3 1")
	h.keep(Kept{}, asBefore)
	h.nothingLeft()
}

// TestKeepingApartGoesOnAfterAKill: what was half made is no more in the way than what was whole.
func TestKeepingApartGoesOnAfterAKill(t *testing.T) {
	labtest.Guarantee(t)
	h := newApartHost(t)
	h.keep(Kept{Tasks: tasks.Set{1}, Quiet: tasks.Set{1}}, "d d 0,2-3 0")
	// One was killed when it had begun the next, and another when it had made it and not undone the first.
	killed := func(number int, done bool, off tasks.Set) {
		t.Helper()
		held, err := folder.Begin(h.apart.settings(number))
		if err != nil {
			t.Fatal(err)
		}
		made, err := keepOff(t.Context(), held.Journal, h.apart.Ledger, Away{Root: h.apart.Host, Off: off, Housekeeping: tasks.Set{0}})
		if err != nil || len(made) == 0 {
			t.Fatal(made, err)
		}
		record := filepath.Join(held.Path(), apartRecord)
		if err := replace.JSON(record, settingsRecord{Off: off.String(), Done: done}, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := held.Close(); err != nil {
			t.Fatal(err)
		}
	}
	killed(2, false, tasks.Set{1, 2})
	killed(3, true, tasks.Set{1, 2, 3})
	h.keep(Kept{Tasks: tasks.Set{2}, Quiet: tasks.Set{2}}, "b b 0-1,3 1")
	killed(5, false, tasks.Set{3})
	h.keep(Kept{}, asBefore)
	h.nothingLeft()
}

// TestOtherTasksKeepOff has a real process on real CPUs.
func TestOtherTasksKeepOff(t *testing.T) {
	h := newApartHost(t)
	whole := h.mask()
	labtest.Require(t, "two CPUs", len(whole) > 1)
	last := whole[len(whole)-1:]
	if _, err := h.apart.Keep(t.Context(), Kept{Tasks: last}, whole[:1], func(note string) { t.Error(note) }); err != nil {
		t.Fatal(err)
	}
	if got, want := h.mask(), whole.Minus(last); !got.Equal(want) {
		t.Errorf("it may use %s, not %s", got, want)
	}
	// Who has the CPU for himself is not in the account, and stays.
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil || own.Count() != len(whole) {
		t.Errorf("others may use %d CPUs, %v", own.Count(), err)
	}
	if _, err := h.apart.Keep(t.Context(), Kept{}, nil, func(note string) { t.Error(note) }); err != nil {
		t.Fatal(err)
	}
	if !h.mask().Equal(whole) {
		t.Errorf("at the end it may use %s", h.mask())
	}
	h.nothingLeft()
}

// TestAfterABootCPUsAreKeptApartAnew: what an earlier boot has left says nothing of the settings now.
func TestAfterABootCPUsAreKeptApartAnew(t *testing.T) {
	h := newApartHost(t)
	h.keep(Kept{Tasks: tasks.Set{1}, Quiet: tasks.Set{1}}, "d d 0,2-3 0")
	now, err := boot.ID()
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(h.apart.Root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(strings.ReplaceAll(labtest.PlainJournal(string(text)), now, "00000000-0000-0000-0000-000000000000")), 0o600)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// The boot has reset them, and someone has set one since.
	for name, text := range map[string]string{
		"sys/devices/virtual/workqueue/cpumask": "f", "proc/irq/default_smp_affinity": "f",
		"proc/irq/9/smp_affinity_list": "0-3", "proc/irq/34/smp_affinity_list": "2",
	} {
		if err := os.WriteFile(filepath.Join(h.apart.Host, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.keep(Kept{Tasks: tasks.Set{2}, Quiet: tasks.Set{2}}, "b b 0-1,3 0")
	h.keep(Kept{}, "f f 0-3 2")
	h.nothingLeft()
}

// TestSettingsThatCannotBeListedAreNotGone: without a free file descriptor there may be some to undo.
func TestSettingsThatCannotBeListedAreNotGone(t *testing.T) {
	a := Apart{Root: t.TempDir()}
	labtest.WithoutFiles(t, func() {
		if numbers, err := a.generations(); !errors.Is(err, unix.EMFILE) {
			t.Errorf("%v, %v", numbers, err)
		}
	})
}

// TestThreadsWaitWhereNobodyKnowsTheCPUs: a thread that asks for CPUs which it cannot have yet would be given up.
func TestThreadsWaitWhereNobodyKnowsTheCPUs(t *testing.T) {
	_, err := Find(CPUSet)
	labtest.Require(t, "cpusets", err == nil)
	labtest.WithoutFiles(t, func() {
		if err := awaitReturned(tasks.Set{0}); !errors.Is(err, unix.EMFILE) {
			t.Errorf("it went on: %v", err)
		}
	})
}
