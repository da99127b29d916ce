package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

// TestWhatALogSaysOfAProcess: of this one, and not of an earlier one with its ID.
func TestWhatALogSaysOfAProcess(t *testing.T) {
	const log = "6,1,1000000,-;eth0: link becomes ready\n" +
		" SUBSYSTEM=net\n DEVICE=+net:eth0\n" +
		"3,2,20000000,-;Memory cgroup out of memory: Killed process 7 (nines-engine) total-vm:1kB, UID:0 pgtables:1kB oom_score_adj:0\n" +
		"6,3,21000000,-;nines-engine[8]: segfault at 0 ip 0000 sp 0000 error 4 in nines-engine[1000+1000]\n" +
		"6,4,22000000,-;traps: nines-engine[9] general protection fault ip:0 sp:0 error:0\n" +
		"6,5,23000000,-;nines-engine[10]: unhandled exception: DABT (lower EL)\n" +
		"6,6,24000000,-;device[11] is not a process\n" +
		`5,8,24500000,-;audit: type=1326 audit(1.0:2): auid=0 uid=0 gid=0 ses=1 pid=12 comm="x" exe="/x" sig=31 arch=c000003e syscall=101 compat=0 ip=0x0 code=0x80000000` + "\n" +
		`5,9,24600000,-;audit: type=1326 audit(1.0:3): auid=0 uid=0 gid=0 ses=1 pid=13 comm="x" exe="/x" sig=0 arch=c000003e syscall=101 compat=0 ip=0x0 code=0x7ffc0000` + "\n" +
		"4,7,25000000,-;somebody wrote Killed process 1234 (x)\n"
	for _, c := range []struct {
		id   Identity
		want string
	}{
		{Identity{7, 1500}, "Memory cgroup out of memory: Killed process 7 (nines-engine)"},
		{Identity{7, 2500}, ""}, // it started after that
		{Identity{8, 1500}, "nines-engine[8]: segfault at 0"},
		{Identity{9, 1500}, "traps: nines-engine[9] general protection fault"},
		{Identity{10, 1500}, "nines-engine[10]: unhandled exception"},
		{Identity{11, 1500}, ""},
		{Identity{12, 1500}, "audit: type=1326 audit(1.0:2)"},
		{Identity{13, 1500}, ""}, // the call failed, and the process went on
		{Identity{123, 1500}, ""},
		{Identity{1, 0}, ""},
	} {
		got := said([]byte(log), c.id)
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%v: %q, want %q", c.id, got, c.want)
		}
	}
	if got, want := said([]byte(log), Identity{12, 1500}), "(a seccomp filter ended it at the system call 101)"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAnExitStatusIsToldUntilItIsReaped(t *testing.T) {
	for script, want := range map[string]string{
		"exit 7": "ended with exit code 7", "kill -KILL $$": "ended by SIGKILL", "kill -SEGV $$": "ended by SIGSEGV",
	} {
		id, reap := startScript(t, "read line; "+script)
		if told := id.Ending(); told != "" {
			t.Errorf("%s: while it runs: %q", script, told)
		}
		reap(false)
		if told := id.Ending(); !strings.HasPrefix(told, want) {
			t.Errorf("%s: %q, want %q", script, told, want)
		}
		reap(true)
		if told := id.Ending(); told != "" {
			t.Errorf("%s: once it is reaped: %q", script, told)
		}
	}
}

// TestWhomTheOOMKillerEndsIsTold from the kernel's log.
func TestWhomTheOOMKillerEndsIsTold(t *testing.T) {
	labtest.Root(t)
	group := filepath.Join("/sys/fs/cgroup/memory", "nines-test-ending-"+strconv.Itoa(os.Getpid()))
	labtest.Require(t, "memory groups of cgroup v1", os.Mkdir(group, 0o755) == nil)
	t.Cleanup(func() {
		for end := time.Now().Add(10 * time.Second); os.Remove(group) != nil && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	})
	if err := os.WriteFile(filepath.Join(group, "memory.limit_in_bytes"), []byte("16M"), 0); err != nil {
		t.Fatal(err)
	}
	id, reap := startScript(t, "echo $$ >"+group+"/cgroup.procs; read line; exec tail /dev/zero")
	reap(false)
	told := id.Ending()
	reap(true)
	labtest.Require(t, "a readable kernel log", kernelLog() != nil)
	if !strings.HasPrefix(told, "ended by SIGKILL; the kernel's log says: Memory cgroup out of memory: Killed process "+strconv.Itoa(id.PID)) {
		t.Errorf("%q", told)
	}
}

// startScript starts a script that reads a line first. reap(false) gives it the line and waits until it is a zombie;
// reap(true) takes its status.
func startScript(t *testing.T, script string) (Identity, func(bool)) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	return id, func(whole bool) {
		if whole {
			_ = cmd.Wait()
			return
		}
		_, _ = in.Write([]byte("\n"))
		if err := unix.Waitid(unix.P_PID, id.PID, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheOnlyChildIsFound, and the process itself where it has none.
func TestTheOnlyChildIsFound(t *testing.T) {
	id, _ := startScript(t, "sleep 1000 & read line; kill $!")
	labtest.Eventually(t, "the script has started its child", func() bool { return id.Child().Command() == "sleep" })
	child := id.Child()
	if child == id || child.Child() != child {
		t.Errorf("the child of %v is %v, whose own is %v", id, child, child.Child())
	}
	if err := child.Signal(unix.SIGKILL); err != nil {
		t.Error(err)
	}
}
