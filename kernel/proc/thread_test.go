package proc

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// firstEnds has a process of these tests end its first thread, and go on until its input ends.
const firstEnds = "NINES_PROC_FIRST_THREAD_ENDS"

// init runs on a process's first thread, which a test does not.
func init() {
	if os.Getenv(firstEnds) == "" {
		return
	}
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	_, _, _ = unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
}

// TestAProcessLivesWhileOneOfItsThreadsDoes: it is a zombie once its first thread has ended, but has its
// files and sockets still.
func TestAProcessLivesWhileOneOfItsThreadsDoes(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), firstEnds+"=1")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = input.Close(), cmd.Wait() }()
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	until := func(what string, there func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !there(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("not within a minute: %s", what)
			}
		}
	}
	until("the first thread ends", func() bool {
		s, err := readStat(id.PID)
		return err == nil && s.state == 'Z'
	})
	if !id.Alive() {
		t.Error("a process counts as ended of which one thread lives")
	}
	if id.InNamespaces() {
		t.Error("namespaces that nobody can enter any more count as there")
	}
	if err := id.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until("it ends, and is a zombie that nobody has reaped", func() bool { return !id.Alive() })
	if !id.Reap() {
		t.Error("it counts as ended, and has no status")
	}
}
