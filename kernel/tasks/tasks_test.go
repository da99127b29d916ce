package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

func set(t *testing.T, list string) Set {
	t.Helper()
	s, err := ParseSet(list)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSets(t *testing.T) {
	a := set(t, "0-3,8")
	if got := a.Minus(set(t, "1,8")).String(); got != "0,2-3" {
		t.Errorf("minus: %s", got)
	}
	if got := a.Plus(set(t, "4-5")).String(); got != "0-5,8" {
		t.Errorf("plus: %s", got)
	}
	if !a.Meets(set(t, "8-9")) || a.Meets(set(t, "4-7")) || !a.Holds(set(t, "0,8")) || a.Holds(set(t, "0,9")) || !a.Holds(nil) {
		t.Error("sets do not meet or hold one another as they should")
	}
}

// sleeper starts a process that sleeps, and a child of it.
func sleeper(t *testing.T) (parent, child Thread) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "sleep 60 & wait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		if child.ID != 0 {
			p, _ := os.FindProcess(child.ID)
			_ = p.Kill()
		}
		_ = cmd.Wait()
	})
	for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(time.Millisecond) {
		for _, thread := range all(t) {
			switch {
			case thread.ID == cmd.Process.Pid:
				parent = thread
			case thread.Parent == cmd.Process.Pid && thread.Name == "sleep":
				child = thread
				return parent, child
			}
		}
	}
	t.Fatal("the sleeper has started nothing")
	return parent, child
}

func all(t *testing.T) []Thread {
	t.Helper()
	threads, err := All()
	if err != nil {
		t.Fatal(err)
	}
	return threads
}

func now(t *testing.T, thread Thread) string {
	t.Helper()
	now, err := readThread(fmt.Sprintf("/proc/%d/task/%d", thread.Process, thread.ID))
	if now == nil {
		t.Fatalf("thread %d has ended: %v", thread.ID, err)
	}
	return now.CPUs.String()
}

func allow(t *testing.T, thread Thread, list string) {
	t.Helper()
	if err := setMask(thread.ID, set(t, list)); err != nil {
		t.Fatal(err)
	}
}

// account writes an account of some threads only: these tests touch no others.
func account(t *testing.T, taken string, threads ...Thread) string {
	t.Helper()
	a := Account{Taken: taken}
	for _, thread := range threads {
		a.Threads = append(a.Threads, entry{thread.ID, thread.StartTicks, thread.CPUs.String()})
	}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func restore(t *testing.T, path string) (notes []string) {
	t.Helper()
	if err := Restore(path, func(note string) { notes = append(notes, note) }); err != nil {
		t.Fatal(err)
	}
	return notes
}

func twoCPUs(t *testing.T) {
	t.Helper()
	own, err := readThread(fmt.Sprintf("/proc/self/task/%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	labtest.Require(t, "CPUs 0 and 1", own.CPUs.Holds(Set{0, 1}))
}

func TestThreadsOfTheHostAreAllInTheAccount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "account.json")
	parent, child := sleeper(t)
	if err := Write(path, Set{1}, nil); err != nil {
		t.Fatal(err)
	}
	b, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range []Thread{parent, child} {
		if was, known := b.masks[identity{thread.ID, thread.StartTicks}]; !known || !was.Equal(thread.CPUs) {
			t.Errorf("thread %d has %s, and the account %s, %v", thread.ID, thread.CPUs, was, known)
		}
	}
	kernel, fixed := 0, 0
	for _, thread := range all(t) {
		if thread.Kernel {
			kernel++
		}
		if thread.Fixed {
			fixed++
			if !thread.Kernel {
				t.Errorf("%s, a user's thread, is fixed", thread.Name)
			}
		}
	}
	labtest.Require(t, "the kernel's threads, which are in the host's own PID namespace", kernel > 0)
	if fixed == 0 || fixed == kernel {
		t.Errorf("of the kernel's threads %d are seen, of which %d are fixed", kernel, fixed)
	}
}

func TestMasksComeBack(t *testing.T) {
	twoCPUs(t)
	parent, child := sleeper(t)
	allow(t, parent, "0-1")
	allow(t, child, "1")
	parent.CPUs, child.CPUs = Set{0, 1}, Set{1}
	path := account(t, "1", parent, child)
	if _, err := Clear(path, false); err != nil {
		t.Fatal(err)
	}
	if got := now(t, parent); got != "0" {
		t.Errorf("CPU 1 is taken, and a thread that had 0-1 has %s", got)
	}
	if got := now(t, child); got != "1" {
		t.Errorf("a thread that had only CPU 1 was moved by us to %s: that is its cpuset's to do", got)
	}
	allow(t, child, "0-1") // as the kernel does when its cpuset changes
	for range 2 {
		if notes := restore(t, path); len(notes) > 0 {
			t.Errorf("notes: %q", notes)
		}
		if a, b := now(t, parent), now(t, child); a != "0-1" || b != "1" {
			t.Errorf("the threads had 0-1 and 1, and have %s and %s", a, b)
		}
	}
}

func TestMasksThatOthersChangedAreLeft(t *testing.T) {
	twoCPUs(t)
	parent, child := sleeper(t)
	parent.CPUs, child.CPUs = Set{0, 1}, Set{0, 1}
	other := child
	other.StartTicks++
	path := account(t, "0", parent, other)
	allow(t, parent, "0") // was 0-1, without 0 it is 1: a mask without 1 is not ours
	allow(t, child, "0")  // the account's thread has ended; this one has its ID
	notes := restore(t, path)
	if len(notes) != 1 || !strings.Contains(notes[0], "left unchanged") {
		t.Errorf("notes: %q", notes)
	}
	if a, b := now(t, parent), now(t, child); a != "0" || b != "0" {
		t.Errorf("they have %s and %s", a, b)
	}
}

// A thread whose mask cannot be restored, because its cpuset no longer has any of those
// CPUs, does not stop a lab from going down.
func TestAMaskThatCannotComeBackIsSaid(t *testing.T) {
	parent, _ := sleeper(t)
	had := now(t, parent)
	parent.CPUs = Set{1023} // no test machine has it
	notes := restore(t, account(t, "1023", parent))
	if len(notes) == 0 || !strings.Contains(notes[0], "1023") {
		t.Errorf("notes %q", notes)
	}
	if got := now(t, parent); got != had {
		t.Errorf("it may use %s, and might %s", got, had)
	}
}

func TestAChildBornMeanwhileGetsWhatItsParentHad(t *testing.T) {
	twoCPUs(t)
	parent, child := sleeper(t)
	parent.CPUs = Set{0, 1}
	path := account(t, "1", parent)
	allow(t, parent, "0")
	allow(t, child, "0")
	restore(t, path)
	if a, b := now(t, parent), now(t, child); a != "0-1" || b != "0-1" {
		t.Errorf("the parent has %s, its child %s", a, b)
	}
	allow(t, child, "1") // its own choice: neither its parent's mask nor that without CPU 1
	restore(t, path)
	if got := now(t, child); got != "1" {
		t.Errorf("a child's own choice became %s", got)
	}
}

// TestAThreadThatCannotBeReadIsNotGone: neither does an account go without it, nor is one done with.
func TestAThreadThatCannotBeReadIsNotGone(t *testing.T) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	thread := filepath.Join(root, "7", "task", "7")
	if err := errors.Join(os.MkdirAll(thread, 0o755), os.WriteFile(filepath.Join(thread, "stat"), stat, 0o600)); err != nil {
		t.Fatal(err)
	}
	if list, err := allBelow(root); err != nil || len(list) != 0 {
		t.Errorf("one that has ended: %v, %v", list, err)
	}
	status := filepath.Join(thread, "status")
	if err := os.Mkdir(status, 0o755); err != nil {
		t.Fatal(err)
	}
	if list, err := allBelow(root); !errors.Is(err, unix.EISDIR) {
		t.Errorf("one that cannot be read: %v, %v", list, err)
	}
	if err := errors.Join(os.Remove(status), os.WriteFile(status, []byte("Cpus_allowed_list:\t0-1\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if list, err := allBelow(root); err != nil || len(list) != 1 || list[0].ID != 7 || !list[0].CPUs.Equal(Set{0, 1}) {
		t.Errorf("one that runs: %v, %v", list, err)
	}
}

func TestWithoutAnAccountNothingIsDone(t *testing.T) {
	if err := Restore(filepath.Join(t.TempDir(), "none"), nil); err != nil {
		t.Error(err)
	}
}

// TestTasksMoveAndComeBack moves the tasks of a test cpuset into another and back.
func TestTasksMoveAndComeBack(t *testing.T) {
	const mount = "/sys/fs/cgroup/cpuset"
	labtest.Require(t, "root", os.Geteuid() == 0)
	_, err := os.Stat(filepath.Join(mount, "cpuset.cpus"))
	labtest.Require(t, "cpuset of version 1", err == nil)
	top, err := os.MkdirTemp(mount, "nines-tasks-test-")
	if err != nil {
		t.Fatal(err)
	}
	from, to := filepath.Join(top, "from"), filepath.Join(top, "to")
	for _, dir := range []string{top, from, to} {
		if dir != top {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			text, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Cleanup(func() {
		for _, dir := range []string{from, to, top} {
			for begun := time.Now(); os.Remove(dir) != nil && time.Since(begun) < 10*time.Second; {
				time.Sleep(time.Millisecond)
			}
		}
	})
	// It forks short-lived children for ever.
	cmd := exec.Command("sh", "-c", "echo $$ > "+from+"/tasks; while :; do sleep 0.001; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	members := func(dir string) string {
		text, err := os.ReadFile(filepath.Join(dir, "tasks"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	here := fmt.Sprintf("%d\n", cmd.Process.Pid)
	for begun := time.Now(); !strings.Contains(members(from), here); time.Sleep(time.Millisecond) {
		if time.Since(begun) > 10*time.Second {
			t.Fatal("the forker is not in its cpuset")
		}
	}
	for range 20 {
		if moved, err := Move(from, to); err != nil || moved.Tasks == 0 || len(moved.Stayed) > 0 || !strings.Contains(members(to), here) {
			t.Fatalf("%+v, %v", moved, err)
		}
		if left := members(from); left != "" {
			t.Fatalf("left behind: %s", left)
		}
		from, to = to, from
	}
}

// TestAnAccountTakesOtherCPUs: of two who want a CPU each, the first goes first.
func TestAnAccountTakesOtherCPUs(t *testing.T) {
	twoCPUs(t)
	parent, child := sleeper(t)
	for _, thread := range []Thread{parent, child} {
		allow(t, thread, "0-1")
	}
	path := filepath.Join(t.TempDir(), "account.json")
	ours := func(thread Thread) bool { return thread.ID == parent.ID || thread.ID == child.ID }
	take := func(taken Set, want string) {
		t.Helper()
		if err := Retake(path, taken, ours, func(note string) { t.Error(note) }); err != nil {
			t.Fatal(err)
		}
		if _, err := Clear(path, false); err != nil {
			t.Fatal(err)
		}
		for _, thread := range []Thread{parent, child} {
			if got := now(t, thread); got != want {
				t.Errorf("with %s taken, thread %d may use %s, not %s", taken, thread.ID, got, want)
			}
		}
	}
	take(Set{1}, "0")
	take(Set{0}, "1")
	take(Set{1}, "0")
	take(nil, "0-1")
	take(Set{1}, "0")
	if notes := restore(t, path); len(notes) > 0 || now(t, parent) != "0-1" || now(t, child) != "0-1" {
		t.Errorf("at the end they may use %s and %s; %q", now(t, parent), now(t, child), notes)
	}
}
